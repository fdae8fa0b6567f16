"""Linear algebra of small matrices, as compositions; web/tensor/src/composed/linalg.ts is written from this file. Programs grow with
the size of matrices, which is at most 32."""

from __future__ import annotations

from .prelude import *  # noqa: F403

MOST = 32


def _size(x: Tensor, what: str) -> int:
    n = x.shape[-1]
    if x.ndim < 2 or x.shape[-2] != n:
        raise Error(f"shape [{', '.join([str(each) for each in x.shape])}]; square matrices are expected", what)
    if n > MOST:
        raise Error(f"matrices of {n} rows; at most {MOST} are supported", what)
    return n


def _unit(x: Tensor, n: int, at: int) -> Tensor:
    return constant(x, [1 if each == at else 0 for each in range(n)], [n], x._dtype)


def _identity(x: Tensor, n: int) -> Tensor:
    return constant(x, [1 if row == column else 0 for row in range(n) for column in range(n)], [n, n], x._dtype)


def cholesky(x: Tensor, upper: bool = False) -> Tensor:
    """The lower (or upper) triangle whose product with its transpose is x, which is symmetric and positive definite."""
    n = _size(x, "cholesky")
    rest = x
    columns = []
    for at in range(n):
        column = rest.narrow(-1, at, 1) / rest.narrow(-1, at, 1).narrow(-2, at, 1).sqrt()
        below = constant(x, [1 if each >= at else 0 for each in range(n)], [n, 1], "bool")
        column = where(below, column, 0.0)
        columns = [*columns, column]
        rest = rest - column.matmul(column.transpose(-2, -1))
    made = cat(columns, -1) if n > 1 else columns[0]
    return made.transpose(-2, -1) if upper else made


def solve(x: Tensor, other: Tensor) -> Tensor:
    """The y with x @ y = other, by elimination with pivots; `other`: vectors or matrices."""
    n = _size(x, "solve")
    vector = other.ndim == 1 or (other.ndim == x.ndim - 1 and other.shape[-1] == n and x.ndim > 2)
    right = other.unsqueeze(-1) if vector else other
    batch = broadcast_shapes(x.shape[:-2], right.shape[:-2])
    columns = right.shape[-1]
    rows = cat([x.expand([*batch, n, n]), right.expand([*batch, n, columns])], -1)
    for at in range(n):
        size = rows.narrow(-1, at, 1).squeeze(-1).abs().detach()
        allowed = constant(x, [1 if each >= at else 0 for each in range(n)], [n], "bool")
        chosen = where(allowed, size, -1.0).argmax(-1, True)
        pick = (chosen == iota(x, n)).to(x._dtype).unsqueeze(-2)
        own = rows.narrow(-2, at, 1)
        pivot = pick.matmul(rows)
        # The two rows exchanged.
        here = _unit(x, n, at).unsqueeze(-1)
        swapped = rows + here * (pivot - own) + pick.transpose(-2, -1) * (1 - pick.narrow(-1, at, 1)) * (own - pivot)
        top = pivot / pivot.narrow(-1, at, 1)
        factors = swapped.narrow(-1, at, 1) * (1 - here)
        rows = swapped * (1 - here) + here * top - factors.matmul(top)
    made = rows.narrow(-1, n, columns)
    return made.squeeze(-1) if vector else made


def inverse(x: Tensor) -> Tensor:
    """The inverse of matrices."""
    n = _size(x, "inverse")
    return solve(x, _identity(x, n))


def det(x: Tensor) -> Tensor:
    """Determinants of matrices."""
    return node("Det", [x])


def logdet(x: Tensor) -> Tensor:
    """Logarithms of determinants."""
    return det(x).log()


def slogdet(x: Tensor) -> list[Tensor]:
    """Signs of determinants, and logarithms of their absolute values."""
    d = det(x)
    return [d.sign(), d.abs().log()]


def matrix_power(x: Tensor, n: int) -> Tensor:
    """The product of n equal matrices; of their inverses below 0."""
    size = _size(x, "matrix_power") if n <= 0 else x.shape[-1]
    if n == 0:
        return _identity(x, size).expand(x.shape)
    base = inverse(x) if n < 0 else x
    made = base
    for _ in range(abs(n) - 1):
        made = made.matmul(base)
    return made


def matrix_exp(x: Tensor) -> Tensor:
    """The exponential of matrices: a series of x / 2^6, squared six times."""
    small = x / 64
    made = _identity(x, x.shape[-1]) + small
    term = small
    for at in range(2, 8):
        term = term.matmul(small) / at
        made = made + term
    for _ in range(6):
        made = made.matmul(made)
    return made


def qr(x: Tensor) -> list[Tensor]:
    """Q with orthogonal columns and R, an upper triangle with Q @ R = x (Householder's reflections)."""
    rows, columns = x.shape[-2:]
    if max(rows, columns) > MOST:
        raise Error(f"matrices of {rows} rows and {columns} columns; at most {MOST} are supported", "qr")
    count = min(rows, columns)
    r = x
    q = _identity(x, rows)
    for at in range(count):
        below = constant(x, [1 if each >= at else 0 for each in range(rows)], [rows, 1], "bool")
        column = where(below, r.narrow(-1, at, 1), 0.0)
        length = column.norm(2, -2, True)
        head = column.narrow(-2, at, 1)
        unit = _unit(x, rows, at).unsqueeze(-1)
        v = column + unit * where(head < 0, -length, length)
        size = v.square().sum(-2, True)
        scale = where(size == 0, 0.0, 2 / where(size == 0, 1.0, size))
        r = r - v.matmul(v.transpose(-2, -1).matmul(r)) * scale
        q = q - q.matmul(v).matmul(v.transpose(-2, -1)) * scale
    return [q.narrow(-1, 0, count), r.narrow(-2, 0, count).triu()]


def eigh(x: Tensor) -> list[Tensor]:
    """Eigenvalues of symmetric matrices, the smallest first, and eigenvectors as columns (Jacobi's rotations, 10 sweeps)."""
    n = _size(x, "eigh")
    if n > 8:
        raise Error(f"matrices of {n} rows; at most 8 are supported", "eigh")
    a = (x + x.transpose(-2, -1)) / 2
    v = _identity(x, n).expand(x.shape)
    for _ in range(6 if n < 5 else 8):
        for p in range(n - 1):
            for q in range(p + 1, n):
                up = _unit(x, n, p)
                uq = _unit(x, n, q)
                app = (a * (up.unsqueeze(1) * up)).sum([-2, -1], True)
                aqq = (a * (uq.unsqueeze(1) * uq)).sum([-2, -1], True)
                apq = (a * (up.unsqueeze(1) * uq)).sum([-2, -1], True)
                none = apq.abs() < 1e-30
                theta = (aqq - app) / where(none, 1.0, apq * 2)
                t = where(theta < 0, -1.0, 1.0) / (theta.abs() + (theta.square() + 1).sqrt())
                t = where(none, 0.0, t)
                c = (t.square() + 1).rsqrt()
                s = t * c
                turn = _identity(x, n) + (up.unsqueeze(1) * up + uq.unsqueeze(1) * uq) * (c - 1) + (up.unsqueeze(1) * uq - uq.unsqueeze(1) * up) * s
                a = turn.transpose(-2, -1).matmul(a).matmul(turn)
                v = v.matmul(turn)
    found = a.diagonal(0, -2, -1).sort(-1)
    return [found.values, v.gather(-1, found.indices.unsqueeze(-2).expand(v.shape))]


def svd(x: Tensor, some: bool = True) -> list[Tensor]:
    """U, the singular values, the largest first, and V with U @ diag(S) @ V.T = x, by the eigenvectors of the smaller product."""
    if x.shape[-2] < x.shape[-1]:
        u, s, v = svd(x.transpose(-2, -1))
        return [v, s, u]
    values, vectors = eigh(x.transpose(-2, -1).matmul(x))
    s = values.flip([-1]).clamp(0).sqrt()
    v = vectors.flip([-1])
    return [x.matmul(v) / s.clamp(1e-30).unsqueeze(-2), s, v]


def pinverse(x: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse of matrices of full rank."""
    t = x.transpose(-2, -1)
    return solve(t.matmul(x), t) if x.shape[-2] >= x.shape[-1] else t.matmul(inverse(x.matmul(t)))


def cholesky_solve(x: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    """The y with (L @ L.T) @ y = x."""
    whole = factor.transpose(-2, -1).matmul(factor) if upper else factor.matmul(factor.transpose(-2, -1))
    return solve(whole, x)


def cholesky_inverse(x: Tensor, upper: bool = False) -> Tensor:
    """The inverse of L @ L.T."""
    return inverse(x.transpose(-2, -1).matmul(x) if upper else x.matmul(x.transpose(-2, -1)))


def triangular_solve(x: Tensor, factor: Tensor, upper: bool = True, transpose: bool = False) -> list[Tensor]:
    """The y with factor @ y = x for a triangle, and the triangle."""
    triangle = factor.triu() if upper else factor.tril()
    return [solve(triangle.transpose(-2, -1) if transpose else triangle, x), triangle]
