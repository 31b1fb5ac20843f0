"""Public names of `dcglearn.losses`."""

from dcglearn.losses.approx import SDCG as SDCG
from dcglearn.losses.approx import SHFSDCG as SHFSDCG
from dcglearn.losses.approx import ApproxAP as ApproxAP
from dcglearn.losses.approx import ApproxNDCG as ApproxNDCG
from dcglearn.losses.approx import RegSHFSDCG as RegSHFSDCG
from dcglearn.losses.approx import soft_ranks as soft_ranks
from dcglearn.losses.listwise import ListNet as ListNet
from dcglearn.losses.listwise import Regression as Regression
from dcglearn.losses.objective import Objective as Objective
from dcglearn.losses.pairwise import GBRank as GBRank
from dcglearn.losses.pairwise import LambdaRank as LambdaRank
from dcglearn.losses.pairwise import RankHinge as RankHinge
from dcglearn.losses.pairwise import RSRank as RSRank
from dcglearn.losses.smooth import SmoothAP as SmoothAP
from dcglearn.losses.smooth import SmoothNDCG as SmoothNDCG
from dcglearn.losses.smooth import SoftRankNDCG as SoftRankNDCG

__all__: list[str]
