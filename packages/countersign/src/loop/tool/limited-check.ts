// Checks a value with a JSON Schema in a limited number of steps. Time depends on the steps alone, not on who wrote the schema.
import { format } from '@cfworker/json-schema';
import { isObject } from '../../core/json.ts';

/** A JSON Schema of draft 2020-12 whose keywords were read by `data-schema.ts`. */
export type Checkable = boolean | { readonly [keyword: string]: unknown };

type Found = { readonly path: readonly string[]; readonly message: string };

/** About 30 ms of work. */
const MOST_STEPS = 100_000;
const MOST_ISSUES = 20;

/** Why the value does not fit, at most 20 reasons; none if it fits. A value that takes too many steps does not fit. */
export function fitsIn(schema: Checkable, value: unknown): readonly Found[] {
  const check = new Check();
  try {
    check.fits(schema, value, true);
    return check.issues;
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    return [
      { path: [], message: `It takes more than ${MOST_STEPS} steps to check it. Send less, or use a simpler schema` },
    ];
  }
}

class OutOfSteps extends Error {}

class Check {
  readonly issues: Found[] = [];
  readonly #path: string[] = [];
  #left = MOST_STEPS;

  /** Whether it fits. With `tells`, the reasons are listed; without, the first one ends the check. */
  fits(schema: Checkable, value: unknown, tells: boolean): boolean {
    this.#spend(1);
    if (schema === true) return true;
    if (schema === false) return this.#misfit(tells, 'False boolean schema.');
    let fits = true;
    for (const keyword in schema) {
      this.#spend(1);
      const why = this.#why(schema, keyword, value, tells);
      if (why === undefined) continue;
      fits = false;
      if (why !== TOLD) this.#misfit(tells, why);
      if (!tells || this.issues.length >= MOST_ISSUES) return false;
    }
    return fits;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfSteps();
  }

  #misfit(tells: boolean, message: string): false {
    if (tells && this.issues.length < MOST_ISSUES) this.issues.push({ path: [...this.#path], message });
    return false;
  }

  /** `TOLD` if the reasons are listed already. */
  #why(
    schema: { readonly [keyword: string]: any },
    keyword: string,
    value: unknown,
    tells: boolean,
  ): string | undefined {
    const wanted = schema[keyword];
    switch (keyword) {
      case 'type':
        return this.#isOf(wanted, value)
          ? undefined
          : `Instance type "${typeOf(value)}" is invalid. Expected "${[wanted].flat().join('", "')}".`;
      case 'enum':
        return wanted.some((one: unknown) => this.#equal(one, value))
          ? undefined
          : `Instance does not match any of ${shown(wanted)}.`;
      case 'const':
        return this.#equal(wanted, value) ? undefined : `Instance does not match ${shown(wanted)}.`;
      case 'allOf':
        return this.#every(wanted, (one: Checkable) => this.fits(one, value, tells), tells);
      case 'anyOf':
        return wanted.some((one: Checkable) => this.fits(one, value, false))
          ? undefined
          : 'Instance does not match any subschemas.';
      case 'oneOf': {
        const matches = wanted.filter((one: Checkable) => this.fits(one, value, false)).length;
        return matches === 1 ? undefined : `Instance does not match exactly one subschema (${matches} matches).`;
      }
      case 'not':
        return this.fits(wanted, value, false) ? 'Instance matched "not" schema.' : undefined;
      case 'if': {
        const next = this.fits(wanted, value, false) ? schema.then : schema.else;
        return next === undefined || this.fits(next, value, tells) ? undefined : TOLD;
      }
    }
    if (typeof value === 'number') return whyNumber(keyword, wanted, value);
    if (typeof value === 'string') return this.#whyString(keyword, wanted, value);
    if (Array.isArray(value)) return this.#whyArray(schema, keyword, value, tells);
    return isObject(value) ? this.#whyObject(schema, keyword, value, tells) : undefined;
  }

  #isOf(types: string | readonly string[], value: unknown): boolean {
    const type = typeOf(value);
    return [types].flat().some((one) => one === type || (one === 'integer' && Number.isInteger(value)));
  }

  #whyString(keyword: string, wanted: any, value: string): string | undefined {
    if (keyword === 'minLength' || keyword === 'maxLength') {
      this.#spend(value.length / 50);
      const length = lengthOf(value);
      if (keyword === 'minLength') return length < wanted ? `String is too short (${length} < ${wanted}).` : undefined;
      return length > wanted ? `String is too long (${length} > ${wanted}).` : undefined;
    }
    if (keyword !== 'format') return undefined;
    this.#spend(value.length / 3);
    return isOfFormat(wanted, value) ? undefined : `String does not match format "${wanted}".`;
  }

  #whyArray(
    schema: { readonly [keyword: string]: any },
    keyword: string,
    value: readonly unknown[],
    tells: boolean,
  ): string | undefined {
    const wanted = schema[keyword];
    const { length } = value;
    switch (keyword) {
      case 'minItems':
        return length < wanted ? `Array has too few items (${length} < ${wanted}).` : undefined;
      case 'maxItems':
        return length > wanted ? `Array has too many items (${length} > ${wanted}).` : undefined;
      case 'prefixItems':
        return this.#every(
          value.slice(0, wanted.length),
          (item, index) => this.#at(String(index), () => this.fits(wanted[index], item, tells)),
          tells,
        );
      case 'items': {
        const first = schema.prefixItems?.length ?? 0;
        return this.#every(
          value.slice(first),
          (item, index) => this.#at(String(first + index), () => this.fits(wanted, item, tells)),
          tells,
        );
      }
      case 'contains': {
        const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema;
        const found = value.filter((item) => this.fits(wanted, item, false)).length;
        if (found < minContains)
          return `Array must contain at least ${minContains} items matching schema. Only ${found} items were found.`;
        return found > maxContains
          ? `Array may contain at most ${maxContains} items matching schema. ${found} items were found.`
          : undefined;
      }
      default:
        return undefined;
    }
  }

  #whyObject(
    schema: { readonly [keyword: string]: any },
    keyword: string,
    value: Record<string, unknown>,
    tells: boolean,
  ): string | undefined {
    const wanted = schema[keyword];
    switch (keyword) {
      case 'required':
        return this.#lacking(wanted, value, (name) => `Instance does not have required property "${name}".`, tells);
      case 'minProperties':
      case 'maxProperties': {
        const { length } = this.#keys(value);
        if (keyword === 'minProperties')
          return length < wanted ? `Instance does not have at least ${wanted} properties.` : undefined;
        return length > wanted ? `Instance has more than ${wanted} properties.` : undefined;
      }
      case 'propertyNames':
        return this.#every(this.#keys(value), (name) => this.#at(name, () => this.fits(wanted, name, tells)), tells);
      case 'properties':
        return this.#fields(
          value,
          (name) => Object.hasOwn(wanted, name),
          (name) => wanted[name],
          tells,
        );
      case 'additionalProperties': {
        const { properties = {} } = schema;
        return this.#fields(
          value,
          (name) => !Object.hasOwn(properties, name),
          () => wanted,
          tells,
        );
      }
      case 'dependentRequired':
        return this.#every(
          this.#keys(wanted).filter((name) => Object.hasOwn(value, name)),
          (name) =>
            this.#lacking(
              wanted[name],
              value,
              (other) => `Instance has "${name}" but does not have "${other}".`,
              tells,
            ) === undefined,
          tells,
        );
      case 'dependentSchemas':
        return this.#every(
          this.#keys(wanted).filter((name) => Object.hasOwn(value, name)),
          (name) => this.fits(wanted[name], value, tells),
          tells,
        );
      default:
        return undefined;
    }
  }

  #fields(
    value: Record<string, unknown>,
    isMeant: (name: string) => boolean,
    schemaOf: (name: string) => Checkable,
    tells: boolean,
  ): string | undefined {
    const names = this.#keys(value).filter(isMeant);
    return this.#every(names, (name) => this.#at(name, () => this.fits(schemaOf(name), value[name], tells)), tells);
  }

  #lacking(
    names: readonly string[],
    value: object,
    text: (name: string) => string,
    tells: boolean,
  ): string | undefined {
    this.#spend(names.length);
    return this.#every(names, (name) => Object.hasOwn(value, name) || this.#misfit(tells, text(name)), tells);
  }

  /** `TOLD` if one of them does not fit. */
  #every<T>(items: readonly T[], fits: (item: T, index: number) => boolean, tells: boolean): string | undefined {
    let all = true;
    for (const [index, item] of items.entries()) {
      if (fits(item, index)) continue;
      all = false;
      if (!tells || this.issues.length >= MOST_ISSUES) return TOLD;
    }
    return all ? undefined : TOLD;
  }

  #at(key: string, check: () => boolean): boolean {
    this.#path.push(key);
    const fits = check();
    this.#path.pop();
    return fits;
  }

  #keys(value: object): readonly string[] {
    const keys = Object.keys(value);
    this.#spend(keys.length);
    return keys;
  }

  /** As `sameJson`, in counted steps. */
  #equal(one: unknown, other: unknown): boolean {
    // Comparing long strings takes time too.
    this.#spend(typeof one === 'string' ? 1 + one.length / 1_000 : 1);
    if (one === other) return true;
    if (Array.isArray(one) && Array.isArray(other))
      return one.length === other.length && one.every((item, index) => this.#equal(item, other[index]));
    if (!isObject(one) || !isObject(other)) return false;
    const keys = this.#keys(one);
    return (
      keys.length === this.#keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && this.#equal(one[key], other[key]))
    );
  }
}

/** The reasons are listed already. */
const TOLD = 'told';

function whyNumber(keyword: string, wanted: number, value: number): string | undefined {
  switch (keyword) {
    case 'minimum':
      return value < wanted ? `${value} is less than ${wanted}.` : undefined;
    case 'maximum':
      return value > wanted ? `${value} is greater than ${wanted}.` : undefined;
    case 'exclusiveMinimum':
      return value <= wanted ? `${value} is less than or equal to ${wanted}.` : undefined;
    case 'exclusiveMaximum':
      return value >= wanted ? `${value} is greater than or equal to ${wanted}.` : undefined;
    case 'multipleOf': {
      const rest = Math.abs(value % wanted);
      return rest < NOTHING || Math.abs(wanted - rest) < NOTHING
        ? undefined
        : `${value} is not a multiple of ${wanted}.`;
    }
    default:
      return undefined;
  }
}

/** Decimal fractions are not exact. */
const NOTHING = 1e-7;

/** An unknown format is a hint for people. The patterns that are used here take linear time. */
function isOfFormat(name: string, value: string): boolean {
  if (name === 'uri' || name === 'url') return URL.canParse(value);
  if (name === 'uri-reference') return URL.canParse(value, 'http://localhost');
  return !Object.hasOwn(format, name) || format[name]?.(value) === true;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** In characters, not in their halves. */
function lengthOf(value: string): number {
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

const LONGEST_SHOWN = 500;

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
