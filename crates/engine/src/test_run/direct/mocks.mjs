// Stand-ins for the functions that a test hands to the product or puts in the place of others, and what a test expects of parts of a value.
import { isDeepStrictEqual } from 'node:util';

const PARTLY = Symbol('partly');
const partly = (matches, shown) => ({ [PARTLY]: matches, shown });
const isPlain = (value) => Array.isArray(value) || (value && Object.getPrototypeOf(value) === Object.prototype);
const isPartly = (value) => Boolean(value?.[PARTLY]) || (isPlain(value) && Object.values(value).some(isPartly));

// Undefined properties are none to `toEqual`.
const loose = (value) => {
  if (Array.isArray(value)) return value.map(loose);
  if (!value || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined).map(([name, one]) => [name, loose(one)]));
};

/// Whether a value is what a test expects.
function equals(own, wanted, strict = false) {
  if (wanted?.[PARTLY]) return wanted[PARTLY](own);
  if (!isPartly(wanted)) return strict ? isDeepStrictEqual(own, wanted) : isDeepStrictEqual(loose(own), loose(wanted));
  if (!isPlain(own) || Array.isArray(own) !== Array.isArray(wanted)) return false;
  const names = new Set([...Object.keys(own), ...Object.keys(wanted)]);
  return [...names].every((name) => equals(own[name], wanted[name], strict));
}

/// Whether a value has at least what a test expects.
function holds(own, wanted) {
  if (!isPlain(wanted) || wanted[PARTLY]) return equals(own, wanted);
  if (Array.isArray(wanted)) return Array.isArray(own) && own.length === wanted.length && wanted.every((one, at) => holds(own[at], one));
  return own !== null && typeof own === 'object' && Object.keys(wanted).every((name) => name in own && holds(own[name], wanted[name]));
}

const KINDS = new Map([[Number, 'number'], [String, 'string'], [Boolean, 'boolean'], [Function, 'function'], [BigInt, 'bigint'], [Symbol, 'symbol'], [Object, 'object']]);
const PARTS = {
  any: (kind) => partly((own) => (KINDS.has(kind) ? typeof own === KINDS.get(kind) : own instanceof kind), `any ${kind?.name}`),
  anything: () => partly((own) => own !== null && own !== undefined, 'anything'),
  objectContaining: (wanted) => partly((own) => Object.keys(wanted).every((name) => equals(own?.[name], wanted[name])), wanted),
  arrayContaining: (wanted) => partly((own) => Array.isArray(own) && wanted.every((one) => own.some((is) => equals(is, one))), wanted),
  stringContaining: (wanted) => partly((own) => typeof own === 'string' && own.includes(wanted), wanted),
  stringMatching: (wanted) => partly((own) => typeof own === 'string' && new RegExp(wanted).test(own), wanted),
};

const stand_ins = [];
const spies = [];

/// A function that keeps the calls of it, and does what it is told.
function mocked(given) {
  let always = given;
  let next = [];
  const own = function (...args) {
    const step = next.length ? next.shift() : always;
    const result = { type: 'incomplete', value: undefined };
    own.mock.calls.push(args);
    own.mock.contexts.push(this);
    own.mock.instances.push(this);
    own.mock.results.push(result);
    own.mock.lastCall = args;
    try {
      result.value = new.target && step ? Reflect.construct(step, args, new.target) : step?.apply(this, args);
      result.type = 'return';
      return result.value;
    } catch (error) {
      Object.assign(result, { type: 'throw', value: error });
      throw error;
    }
  };
  const forget = () => {
    own.mock = { calls: [], contexts: [], instances: [], results: [], lastCall: undefined };
    return own;
  };
  const does = (step) => {
    always = step;
    return own;
  };
  const once = (step) => {
    next.push(step);
    return own;
  };
  const reset = () => {
    next = [];
    return does(given) && forget();
  };
  Object.assign(own, {
    _isMockFunction: true,
    mockImplementation: does,
    mockImplementationOnce: once,
    mockReturnValue: (value) => does(() => value),
    mockReturnValueOnce: (value) => once(() => value),
    mockResolvedValue: (value) => does(async () => value),
    mockResolvedValueOnce: (value) => once(async () => value),
    mockRejectedValue: (value) => does(async () => Promise.reject(value)),
    mockRejectedValueOnce: (value) => once(async () => Promise.reject(value)),
    mockReturnThis: () => does(function () { return this; }),
    mockName: () => own,
    getMockName: () => 'fn',
    getMockImplementation: () => always,
    mockClear: forget,
    mockReset: reset,
    mockRestore: reset,
  });
  stand_ins.push(own);
  return forget();
}

/// A method whose calls are kept, until it is put back.
function spied(holder, name, kind) {
  const had = Object.getOwnPropertyDescriptor(holder, name);
  const before = holder[name];
  if (kind || typeof before !== 'function') none(`mocks of ${String(name)}`);
  if (before._isMockFunction) return before;
  const own = mocked(before);
  holder[name] = own;
  const back = () => (had ? Object.defineProperty(holder, name, had) : delete holder[name]);
  spies.push(back);
  own.mockRestore = () => {
    back();
    return own.mockReset();
  };
  return own;
}

/// Puts back what was replaced since, and forgets the stand-ins that were made since.
function restored(since = { spies: 0, stand_ins: stand_ins.length }) {
  for (const back of spies.splice(since.spies).reverse()) back();
  stand_ins.splice(since.stand_ins);
}

const every = (step) => () => {
  for (const one of stand_ins) one[step]();
  return MOCKS;
};
const MOCKS = {
  fn: mocked,
  spyOn: spied,
  mocked: (value) => value,
  isMockFunction: (value) => Boolean(value?._isMockFunction),
  setTimeout: () => MOCKS,
  clearAllMocks: every('mockClear'),
  resetAllMocks: every('mockReset'),
  restoreAllMocks: () => {
    restored();
    return MOCKS;
  },
};

const called = (own) => own?.mock?.calls ?? none('mocks of its own');
const MOCK_MATCHERS = {
  toHaveBeenCalled: (own) => called(own).length > 0,
  toHaveBeenCalledOnce: (own) => called(own).length === 1,
  toHaveBeenCalledTimes: (own, times) => called(own).length === times,
  toHaveBeenCalledWith: (own, ...args) => called(own).some((one) => equals(one, args)),
  toHaveBeenCalledExactlyOnceWith: (own, ...args) => called(own).length === 1 && equals(called(own)[0], args),
  toHaveBeenLastCalledWith: (own, ...args) => equals(called(own).at(-1), args),
  toHaveBeenNthCalledWith: (own, nth, ...args) => equals(called(own)[nth - 1], args),
  toHaveReturned: (own) => called(own) && own.mock.results.some((one) => one.type === 'return'),
  toHaveReturnedWith: (own, wanted) => called(own) && own.mock.results.some((one) => one.type === 'return' && equals(one.value, wanted)),
  toMatchObject: holds,
  toHaveProperty: (own, path, ...wanted) => {
    const names = Array.isArray(path) ? path : String(path).split(/[.[\]]+/).filter(Boolean);
    let at = own;
    for (const name of names) {
      if (at === null || at === undefined || !(name in Object(at))) return false;
      at = at[name];
    }
    return wanted.length === 0 || equals(at, wanted[0]);
  },
};

