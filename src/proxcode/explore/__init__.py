"""Live search among stored codes in a browser, on this machine."""

from proxcode.explore.explorer import CodeExplorer
from proxcode.explore.items import Items
from proxcode.explore.server import ExploreServer

__all__ = ["CodeExplorer", "ExploreServer", "Items"]
