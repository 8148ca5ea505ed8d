from . import geometry_text as geometry_text
from . import geometry_transformer as geometry_transformer
from . import contrastive_starts as contrastive_starts
from . import ridge_tables as ridge_tables
from . import factor_starts as factor_starts
from . import complete_supports as complete_supports
from . import proxy_certificates as proxy_certificates
