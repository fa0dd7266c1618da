"""Reports: what a model does, in pictures and plain words, as one HTML file.

`writing.write_report` measures and writes. `page` and `charts` draw, and know nothing of models; the sections of
`code_sections` and `map_section` need codes and numbers alone. Nothing is imported here, since a page needs neither
scikit-learn nor numba.
"""
