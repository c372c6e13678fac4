// The events of AG-UI. Only types of the protocol's package are used, so it is not installed with the server.
import type { Event } from '@ag-ui/core';

/** The version of the protocol that the server speaks. */
export const PROTOCOL_VERSION = '1.0';

/** An event whose type is plain text: the enum of the package is a value. */
export type AgUiEvent = WithTextAsType<Event>;

type WithTextAsType<E extends Event> = E extends Event ? Omit<E, 'type'> & { readonly type: `${E['type']}` } : never;
