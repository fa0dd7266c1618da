"""Pipelines of scikit-learn whose last step is a code, as models of their own."""

from proxcode.pipeline.code_pipeline import CodePipeline
from proxcode.pipeline.loading import Model, check_fitted_model, code_of, load

__all__ = ["CodePipeline", "Model", "check_fitted_model", "code_of", "load"]
