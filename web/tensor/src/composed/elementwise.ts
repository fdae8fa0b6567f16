// Written by tools/composed/write.py from python/gossamer/composed/elementwise.py: change that.
/* eslint-disable */
// @ts-nocheck
import * as $ from './prelude.ts';

export const addcmul = $.composed('addcmul', 3, {value: 1}, (x: any, a: any, b: any, value: any): any => {return $.add(x, $.mul($.mul(a, b), value));});
export const addcdiv = $.composed('addcdiv', 3, {value: 1}, (x: any, a: any, b: any, value: any): any => {return $.add(x, $.mul($.div(a, b), value));});
export const lerp = $.composed('lerp', 3, {}, (x: any, end: any, weight: any): any => {return $.add(x, $.mul($.sub(end, x), weight));});
export const clampMin = $.composed('clampMin', 2, {}, (x: any, min: any): any => {return $.where($.lt(x, min), min, x);});
export const clampMax = $.composed('clampMax', 2, {}, (x: any, max: any): any => {return $.where($.gt(x, max), max, x);});
export const positive = $.composed('positive', 1, {}, (x: any): any => {return x;});
export const exp2 = $.composed('exp2', 1, {}, (x: any): any => {return $.mul($.floating(x), Math.log(2)).exp();});
export const frac = $.composed('frac', 1, {}, (x: any): any => {return $.sub(x, x.trunc().detach());});
export const hypot = $.composed('hypot', 2, {}, (x: any, other: any): any => {let a: any, b: any, large: any, length: any, safe: any; a = $.floating(x).abs(); b = $.floating(other).abs(); large = a.maximum(b).detach(); safe = $.where($.or($.eq(large, 0), large.isinf()), 1.0, large); length = $.mul($.add($.div(a, safe).square(), $.div(b, safe).square()).sqrt(), safe); return $.where(large.isinf(), large, length);});
export const logaddexp = $.composed('logaddexp', 2, {}, (x: any, other: any): any => {let large: any, still: any; large = $.where($.gt(x, other), x, other); still = $.where(large.isinf(), 0.0, large.detach()); return $.add($.add($.sub(x, still).exp(), $.sub(other, still).exp()).log(), still);});
export const logit = $.composed('logit', 1, {eps: undefined}, (x: any, eps: any): any => {let kept: any; x = $.floating(x); kept = (eps == null ? x : x.clamp(eps, $.sub(1, eps))); return $.div(kept, $.sub(1, kept)).log();});
export const xlogy = $.composed('xlogy', 2, {}, (x: any, other: any): any => {let made: any; if (!($.isTensor(other))) {return $.mul(x, Math.log(other));} made = $.where($.eq(x, 0), 0.0, $.mul(x, $.where($.eq(x, 0), 1.0, $.floating(other)).log())); return $.where(other.isnan(), NaN, made);});
export const nanToNum = $.composed('nanToNum', 1, {nan: 0.0, posinf: undefined, neginf: undefined}, (x: any, nan: any, posinf: any, neginf: any): any => {let below: any, finite: any, most: any; if (!($.isFloat(x))) {return x;} most = ($.eq(x.dtype, 'f16') ? 65504.0 : ($.eq(x.dtype, 'f32') ? 3.4028234663852886e+38 : 1.7976931348623157e+308)); finite = $.where(x.isnan(), nan, x); below = $.where($.eq(x, Infinity), (posinf == null ? most : posinf), finite); return $.where($.eq(x, -Infinity), (neginf == null ? $.neg(most) : neginf), below);});
export const isclose = $.composed('isclose', 2, {rtol: 1e-05, atol: 1e-08, equalNan: false}, (x: any, other: any, rtol: any, atol: any, equalNan: any): any => {let a: any, b: any, close: any; a = $.floating(x); b = $.floating(other); close = $.or($.eq(a, b), $.and($.le($.sub(a, b).abs(), $.add($.mul(b.abs(), rtol), atol)), b.isfinite())); return (equalNan ? $.or(close, $.and(a.isnan(), b.isnan())) : close);});
export const isposinf = $.composed('isposinf', 1, {}, (x: any): any => {return $.eq($.floating(x), Infinity);});
export const isneginf = $.composed('isneginf', 1, {}, (x: any): any => {return $.eq($.floating(x), -Infinity);});
