// Written by tools/composed/write.py from python/gossamer/composed/shared.py: change that.
/* eslint-disable */
// @ts-nocheck
import * as $ from './prelude.ts';

export const reducedTo = (loss: any, reduction: any): any => {if (!$.has(['mean', 'sum', 'none'], reduction)) {throw $.wrong('loss', `reduction is ${reduction}; mean, sum and none are allowed`);} return ($.eq(reduction, 'none') ? loss : ($.eq(reduction, 'sum') ? loss.sum() : loss.mean()));};
export const softPlus = (x: any): any => {return $.node('Softplus', [x]);};
export const sameShape = (name: any, x: any, target: any): any => {if ($.ne([...x.shape], [...target.shape])) {throw $.wrong(name, `the input has shape [${x.shape.map((each: any) => String(each)).join(', ')}], the target [${target.shape.map((each: any) => String(each)).join(', ')}]`);}};
export const shaped = (factors: any, rank: any, axis: any): any => {return factors.reshape([-1, ...$.mul([1], $.sub($.sub(rank, axis), 1))]);};
export const hotOf = (x: any, target: any, axis: any): any => {let classes: any, places: any; classes = $.item(x.shape, axis); places = $.iota(x, classes).reshape($.range(x.ndim).map((at: any) => ($.eq(at, axis) ? -1 : 1))); return $.eq(target.to('i32').unsqueeze(axis), places);};
export const aboveZero = (x: any): any => {return $.where($.lt(x, 0), 0.0, x);};
export const checkProbability = (p: any): any => {if (!(($.le(0, p) && $.le(p, 1)))) {throw $.wrong('dropout', `p is ${p}; 0 to 1 are allowed`);}};
export const rowsOf = (x: any, dim: any, index: any, source: any): any => {let at: any; at = $.axisOf(x, dim, 'index_add'); return index.reshape($.range(x.ndim).map((axis: any) => ($.eq(axis, at) ? -1 : 1))).expand(source.shape);};
export const nanLast = (x: any): any => {return ($.isFloat(x) ? $.where(x.isnan(), Infinity, x) : x);};
