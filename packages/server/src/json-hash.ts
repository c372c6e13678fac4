// A short hash of a JSON value: the same for objects with the same properties in another order.
import { hash } from 'node:crypto';
import { canonicalJson } from 'countersign/request';

export const jsonHash = (value: unknown): string => hash('sha256', canonicalJson(value), 'base64url').slice(0, 22);
