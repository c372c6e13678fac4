// Leaves out undefined values, which optional properties do not take.

type Defined<T> = { readonly [name in keyof T as undefined extends T[name] ? never : name]: T[name] } & {
  readonly [name in keyof T as undefined extends T[name] ? name : never]?: Exclude<T[name], undefined>;
};

/** The same object without the properties that are undefined. */
export const defined = <T extends object>(values: T): Defined<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
