/** Operations on each element, of one tensor or of several that broadcast to each other's shapes (PyTorch's rules). */
import {Core} from './core.ts';
import {besides, category, type DType, isFloat, promote} from './dtype.ts';
import {type Attributes, constant, Floats, type Recorded} from './recording.ts';

export type Scalar = number | bigint | boolean;

// Private methods are static here: others would mark every tensor that is made.
export class Elementwise extends Core {
  /** A number as a constant of the program. */
  protected number(value: Scalar, dtype: DType): Recorded {
    return constant(dtype, [], [typeof value === 'boolean' ? Number(value) : value]);
  }

  /** The type that this and the other have together. */
  protected common(other: this | Scalar): DType {
    if (typeof other !== 'object') return besides(this.dtype, other);
    const [a, b] = [this.dtype, other.dtype];
    // Single numbers widen nothing of their own kind.
    if (category(a) === category(b) && (this.ndim === 0) !== (other.ndim === 0)) return this.ndim === 0 ? b : a;
    return promote(a, b);
  }

  /** An operator of two operands of one type. */
  protected binary(op: string, other: this | Scalar, dtype = this.common(other), attributes?: Attributes): this {
    const left = this.cast(dtype);
    const right = typeof other === 'object' ? other.cast(dtype) : this.number(other, dtype);
    return left.apply(op, [left, right], attributes);
  }

  /** An operator of floats. */
  protected unary(op: string, attributes?: Attributes): this {
    const x = this.floating();
    return x.apply(op, [x], attributes);
  }

  /** this + alpha * other; with three operands TensorJS's alpha * this + beta * other. */
  add(other: this | Scalar, alpha: number | {readonly alpha: number} = 1, beta?: number): this {
    if (typeof alpha === 'object') return this.add(scaled(other, alpha.alpha));
    if (beta !== undefined || alpha !== 1) return this.mul(alpha).add(scaled(other, beta ?? 1));
    return this.binary('Add', other, Elementwise.#summed(this, other));
  }

  /** this - alpha * other; with three operands alpha * this - beta * other. */
  sub(other: this | Scalar, alpha: number | {readonly alpha: number} = 1, beta?: number): this {
    if (typeof alpha === 'object') return this.sub(scaled(other, alpha.alpha));
    if (beta !== undefined || alpha !== 1) return this.mul(alpha).sub(scaled(other, beta ?? 1));
    return this.binary('Sub', other, Elementwise.#summed(this, other));
  }

  /** this * other, times alpha. */
  mul(other: this | Scalar, alpha = 1): this {
    const product = this.binary('Mul', other, Elementwise.#summed(this, other));
    return alpha === 1 ? product : product.mul(alpha);
  }

  /** The true quotient, times alpha: integers give floats. */
  div(other: this | Scalar, alpha = 1): this {
    const dtype = this.common(other);
    const quotient = this.binary('Div', other, isFloat(dtype) ? dtype : 'f32');
    return alpha === 1 ? quotient : quotient.mul(alpha);
  }

  /** Arithmetic of booleans is that of integers. */
  static #summed<T extends Elementwise>(x: T, other: T | Scalar): DType {
    const dtype = x.common(other);
    return dtype === 'bool' ? 'i32' : dtype;
  }

  floorDivide(other: this | Scalar): this {
    const dtype = this.common(other);
    if (isFloat(dtype)) return this.div(other).floor();
    // The quotient of what is left once the remainder, which has the divisor's sign, is taken away.
    return this.sub(this.remainder(other)).binary('Div', other, dtype);
  }

  /** Of the divisor's sign, as in Python. */
  remainder(other: this | Scalar): this {
    const dtype = this.common(other);
    if (!isFloat(dtype)) return this.binary('Mod', other, dtype);
    const rest = this.fmod(other);
    // Of another sign than the divisor; a number's sum makes 0 of negative zeros.
    return rest.choose(rest.sign().mul(other).lt(0), rest.add(other), rest.add(0));
  }

  /** Of the dividend's sign, as in C. */
  fmod(other: this | Scalar): this {
    return this.binary('Mod', other, this.common(other), {fmod: 1});
  }

  /** this to the power of other; times alpha. */
  pow(other: this | Scalar, alpha = 1): this {
    const made = other === 2 ? this.mul(this) : this.binary('Pow', other);
    return alpha === 1 ? made : made.mul(alpha);
  }

  /** The larger one. Where both are equal each gets half of the gradient, as in PyTorch; of clamp() the bounds pass it on whole. */
  maximum(other: this | Scalar): this {
    return typeof other === 'number' && this.requiresGrad ? Elementwise.#replaced(this, this.lt(other), other) : this.binary('Max', other);
  }

  minimum(other: this | Scalar): this {
    return typeof other === 'number' && this.requiresGrad ? Elementwise.#replaced(this, this.gt(other), other) : this.binary('Min', other);
  }

  /** `bound` where it wins; where x equals it half of each, which has half the gradient. */
  static #replaced<T extends Elementwise>(x: T, wins: T, bound: number): T {
    return x.choose(wins, bound, x.choose(x.eq(bound), x.mul(0.5).add(bound * 0.5), x));
  }

  /** The angle of (other, this). Its gradient at the origin is 0. */
  atan2(other: this): this {
    const dtype = this.common(other);
    // Infinities become large numbers, whose quotients are not NaN.
    const [y, x] = [this, other].map((each) => each.cast(isFloat(dtype) ? dtype : 'f32').clamp(-3e38, 3e38)) as [this, this];
    // The smaller coordinate over the larger one: neither value nor gradient divides by 0.
    const steep = y.abs().gt(x.abs());
    const large = y.choose(steep, y, x);
    const angle = y.choose(steep, x, y).div(y.choose(large.eq(0), Infinity, large)).atan();
    // -0 counts as negative, which its reciprocal tells.
    const negative = (each: this) => each.choose(each.eq(0), each.apply('Reciprocal'), each).lt(0);
    const up = y.choose(negative(y), -1, 1).cast(y.dtype).mul(Math.PI);
    return y.choose(steep, up.mul(0.5).sub(angle), y.choose(negative(x), angle.add(up), angle));
  }

  protected choose(condition: this, a: this | Scalar, b: this | Scalar): this {
    const tensor = typeof a === 'object' ? a : typeof b === 'object' ? b : undefined;
    const dtype = tensor ? tensor.common(tensor === a ? b : a) : besides(besides('bool', a as Scalar), b as Scalar);
    const part = (each: this | Scalar) => (typeof each === 'object' ? each.cast(dtype) : this.number(each, dtype));
    return condition.apply('Where', [condition.cast('bool'), part(a), part(b)]);
  }

  /** This where the condition holds, the other elsewhere. */
  where(condition: this, other: this | Scalar): this {
    return this.choose(condition, this, other);
  }

  /** `value` where the mask holds, this elsewhere. */
  maskedFill(mask: this, value: Scalar): this {
    return this.apply('Where', [mask.cast('bool'), this.number(value, this.dtype), this]);
  }

  eq(other: this | Scalar): this { return this.binary('Equal', other); }
  ne(other: this | Scalar): this { return this.eq(other).logicalNot(); }
  lt(other: this | Scalar): this { return this.binary('Less', other, Elementwise.#summed(this, other)); }
  le(other: this | Scalar): this { return this.binary('LessOrEqual', other, Elementwise.#summed(this, other)); }
  gt(other: this | Scalar): this { return this.binary('Greater', other, Elementwise.#summed(this, other)); }
  ge(other: this | Scalar): this { return this.binary('GreaterOrEqual', other, Elementwise.#summed(this, other)); }

  logicalNot(): this {
    const truth = this.cast('bool');
    return truth.apply('Not', [truth]);
  }
  logicalAnd(other: this | Scalar): this { return this.binary('And', other, 'bool'); }
  logicalOr(other: this | Scalar): this { return this.binary('Or', other, 'bool'); }
  logicalXor(other: this | Scalar): this { return this.binary('Xor', other, 'bool'); }
  bitwiseAnd(other: this | Scalar): this { return this.binary(this.dtype === 'bool' ? 'And' : 'BitwiseAnd', other); }
  bitwiseOr(other: this | Scalar): this { return this.binary(this.dtype === 'bool' ? 'Or' : 'BitwiseOr', other); }
  bitwiseXor(other: this | Scalar): this { return this.binary(this.dtype === 'bool' ? 'Xor' : 'BitwiseXor', other); }
  bitwiseNot(): this { return this.apply(this.dtype === 'bool' ? 'Not' : 'BitwiseNot'); }
  bitwiseLeftShift(other: this | Scalar): this { return this.binary('BitShift', other, this.common(other), {direction: 'LEFT'}); }
  bitwiseRightShift(other: this | Scalar): this { return this.binary('BitShift', other, this.common(other), {direction: 'RIGHT'}); }
  isnan(): this { return this.unary('IsNaN'); }
  isinf(): this { return this.unary('IsInf'); }
  isfinite(): this { return this.isnan().logicalOr(this.isinf()).logicalNot(); }

  exp(): this { return this.unary('Exp'); }
  log(): this { return this.unary('Log'); }
  log2(): this { return this.log().mul(Math.LOG2E); }
  log10(): this { return this.log().mul(Math.LOG10E); }
  /** log(1 + x), accurate near 0: each formula gets only the arguments that it is for, as the other's gradient may be NaN there. */
  log1p(): this {
    const x = this.floating();
    const near = x.abs().lt(0.5);
    const small = x.choose(near, x, 0);
    return x.choose(near, small.div(small.add(2)).atanh().mul(2), x.choose(near, 0, x).add(1).log());
  }
  /** exp(x) - 1, accurate near 0. */
  expm1(): this {
    const x = this.floating();
    const near = x.abs().lt(1);
    const t = x.choose(near, x, 0).mul(0.5).tanh();
    return x.choose(near, t.mul(2).div(t.neg().add(1)), x.choose(near, 0, x).exp().sub(1));
  }
  sqrt(): this { return this.unary('Sqrt'); }
  rsqrt(): this { return this.sqrt().reciprocal(); }
  square(): this { return this.mul(this); }
  reciprocal(): this { return this.unary('Reciprocal'); }
  sin(): this { return this.unary('Sin'); }
  cos(): this { return this.unary('Cos'); }
  tan(): this { return this.unary('Tan'); }
  asin(): this { return this.unary('Asin'); }
  acos(): this { return this.unary('Acos'); }
  atan(): this { return this.unary('Atan'); }
  sinh(): this { return this.unary('Sinh'); }
  cosh(): this { return this.unary('Cosh'); }
  tanh(): this { return this.unary('Tanh'); }
  asinh(): this { return this.unary('Asinh'); }
  acosh(): this { return this.unary('Acosh'); }
  atanh(): this { return this.unary('Atanh'); }
  erf(): this { return this.unary('Erf'); }
  abs(): this { return this.apply('Abs'); }
  neg(): this { return this.apply('Neg'); }
  sign(): this { return this.apply('Sign'); }
  floor(): this { return isFloat(this.dtype) ? this.apply('Floor') : this; }
  ceil(): this { return isFloat(this.dtype) ? this.apply('Ceil') : this; }
  /** To the nearest integer, halves to even. */
  round(): this { return isFloat(this.dtype) ? this.apply('Round') : this; }
  /** Towards zero. */
  trunc(): this { return isFloat(this.dtype) ? this.sign().mul(this.abs().floor()) : this; }

  /** Kept within [min, max]; null or undefined: open. The bounds themselves pass gradients on, as in PyTorch. */
  clamp(min?: number | null, max?: number | null): this {
    if (!this.requiresGrad) return Elementwise.#clipped(this, min, max);
    const low = typeof min === 'number' ? this.choose(this.lt(min), min, this) : this;
    return typeof max === 'number' ? low.choose(low.gt(max), max, low) : low;
  }

  static #clipped<T extends Elementwise>(x: T, min?: number | null, max?: number | null): T {
    const bound = (value?: number | null): Recorded | null => (value === undefined || value === null ? null : x.number(value, x.dtype));
    return x.apply('Clip', [x, bound(min), bound(max)]);
  }

  relu(): this { return this.apply('Relu'); }
  relu6(): this { return Elementwise.#clipped(this, 0, 6); }
  sigmoid(): this { return this.unary('Sigmoid'); }
  /** x/6 + 1/2 within [0, 1], or with other factors. */
  hardSigmoid(alpha = 1 / 6, beta = 0.5): this { return this.unary('HardSigmoid', {alpha: new Floats(alpha), beta: new Floats(beta)}); }
  hardSwish(): this { return this.unary('HardSwish'); }
  leakyRelu(slope = 0.01): this { return this.unary('LeakyRelu', {alpha: new Floats(slope)}); }
  elu(alpha = 1): this { return this.unary('Elu', {alpha: new Floats(alpha)}); }
  celu(alpha = 1): this { return this.unary('Celu', {alpha: new Floats(alpha)}); }
  selu(): this { return this.unary('Selu'); }
  gelu(approximate: 'none' | 'tanh' = 'none'): this { return this.unary('Gelu', {approximate}); }
  silu(): this { return this.mul(this.sigmoid()); }
  mish(): this { return this.unary('Mish'); }
  softplus(): this { return this.unary('Softplus'); }
  softsign(): this { return this.unary('Softsign'); }

  // TensorJS's names.
  power(other: this | Scalar, alpha = 1): this { return this.pow(other, alpha); }
  addScalar(value: number): this { return this.add(value); }
  multiplyScalar(value: number): this { return this.mul(value); }
  /** this * factor + addend. */
  addMultiplyScalar(factor: number, addend: number): this { return this.mul(factor).add(addend); }
  powerScalar(power: number, factor = 1): this { return this.pow(power, factor); }
  negate(): this { return this.neg(); }
  /** The gradient `grad` of clip(min, max) at this: passed within the bounds, else 0. */
  clipBackward(min: number, max: number, grad: this): this {
    return grad.mul(this.ge(min).logicalAnd(this.le(max)).cast(grad.dtype));
  }
}

const scaled = <T extends Elementwise>(other: T | Scalar, factor: T | Scalar): T | Scalar => {
  if (factor === 1) return other;
  if (typeof other === 'object') return other.mul(factor);
  return typeof factor === 'object' ? factor.mul(other) : Number(other) * Number(factor);
};
