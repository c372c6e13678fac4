// Words of messages, tools and properties, in a form that can be compared.

/** The words of a text or of a name such as `payInvoice` or `pay_invoice`, in lower case. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\d]+/gu) ?? []
  );
}

/** The words that say something about a topic, as stems. */
export function topicsOf(text: string): ReadonlySet<string> {
  return new Set(wordsOf(text).flatMap((word) => (FILLERS.has(word) ? [] : [stemOf(word)])));
}

/** One form for `pay`, `pays`, `paid` and `paying`. */
export function stemOf(word: string): string {
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  if (word.length <= 3) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  const stem = word.replace(/(?:ments?|ings?|ed|es|s)$/, '');
  return stem.length < 3 ? word : stem.replace(/e$/, '');
}

/** The kinds of action that a text names, such as `send` for `write`. */
export function actionsOf(text: string): ReadonlySet<string> {
  return new Set(wordsOf(text).flatMap((word) => ACTION_OF.get(stemOf(word)) ?? []));
}

const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ['paid', 'pay'],
  ['sent', 'send'],
  ['wrote', 'writ'],
  ['email', 'mail'],
  ['emails', 'mail'],
  ['e', 'mail'],
]);

const ACTIONS: Readonly<Record<string, string>> = {
  pay: 'pay payment transfer wire remit',
  send: 'send write mail email message tell notify reply post inform',
  remove: 'delete remove erase drop discard',
  refund: 'refund reimburse',
  end: 'cancel stop end close terminate',
  read: 'look find search get show list check fetch read see what which who lookup',
  ask: 'ask question choose confirm clarify',
  create: 'create add make new book schedule plan open buy reserve',
  change: 'update change edit set rename move modify',
  publish: 'publish deploy release',
};

const ACTION_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(ACTIONS).flatMap(([action, words]) => words.split(' ').map((word) => [stemOf(word), action] as const)),
);

const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an the this that these those of to for from in on at by with without and or not no it its is are was were be been do ' +
    'does did has have had can could will would shall should may might must please me my i you your we our us they their he ' +
    'she him her who what which when where how why if then than so as into out up down about before after all any each some ' +
    'one two person people user users call tool use uses using hello hi thanks'
  ).split(' '),
);
