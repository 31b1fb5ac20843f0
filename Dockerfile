# dcglearn without a compiler, for: docker run --rm -v "$PWD:/data" dcglearn learn log.jsonl -o dcg.json
FROM python:3.13-slim AS build
WORKDIR /opt/build
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY dcglearn dcglearn
RUN pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM python:3.13-slim
COPY --from=build /opt/build/wheels /opt/wheels
RUN pip install --no-cache-dir /opt/wheels/*.whl
RUN useradd --create-home --uid 1000 dcglearn
USER dcglearn
RUN dcglearn --version
WORKDIR /data
ENTRYPOINT ["dcglearn"]
