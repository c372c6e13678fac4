// A person on one line of text.
import { type Names, personText } from 'countersign/request';
import { visibleLine } from './visible-text.ts';

/** As in `Ann Lee (ann)`. */
export const personLine = (id: string, names?: Names): string => visibleLine(personText(id, names));
