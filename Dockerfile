# dcglearn with its kernels compiled ahead, for: docker run --rm -v "$PWD:/data" dcglearn learn log.jsonl -o dcg.json
FROM python:3.13-slim
WORKDIR /opt/dcglearn
COPY pyproject.toml README.md LICENSE ./
COPY dcglearn dcglearn
RUN pip install --no-cache-dir '.[judge]'
RUN useradd --create-home --uid 1000 dcglearn
USER dcglearn
RUN dcglearn doctor --compile
WORKDIR /data
ENTRYPOINT ["dcglearn"]
