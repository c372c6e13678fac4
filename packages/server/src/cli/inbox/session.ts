// The inbox as a person meets it: a list, a card, a decision, and what others do meanwhile.
import type { DecisionInput } from 'countersign';
import type { CardQuery, Desk, DeskCard } from '../desk/desk.ts';
import { failureOf } from '../failure.ts';
import { onItsWayText, recordedText } from '../print/decision-text.ts';
import { timeText } from '../print/moment.ts';
import { widthOf, wrap } from '../print/text-width.ts';
import { visibleLine } from '../print/visible-text.ts';
import { keysOf, type Verb, verbOf } from './card-keys.ts';
import { cardRows } from './card-rows.ts';
import { type Asker, askAnswer, askApproval, askEdit, askRefusal, type Outcome } from './decisions.ts';
import { bodyRoom, frame, type Notice, type Parts, type Row, readTo, scrolledBy, scrolledTo } from './frame.ts';
import { helpRows } from './help-rows.ts';
import { createHolding, type Holding, othersHold } from './holding.ts';
import { listRow } from './list-row.ts';
import { type Backdrop, createPrompts } from './prompts.ts';
import { Interrupted, type Size, type Terminal } from './terminal.ts';

const PAGE = 100;
/** Ages and deadlines go on though nothing happens. */
const REDRAWN_EVERY_MS = 5_000;

export async function runInbox(desk: Desk, terminal: Terminal, query: CardQuery): Promise<void> {
  await new Session(desk, terminal, query).list();
}

class Session {
  readonly #desk: Desk;
  readonly #terminal: Terminal;
  readonly #query: CardQuery;
  #cards: readonly DeskCard[] = [];
  #hasMore = false;
  #selected: string | undefined;
  #listTop = 0;
  #notice: Notice | undefined;
  /** Since when the server is away, and why what waits could not be loaded. */
  #lostAt: number | undefined;
  #trouble: string | undefined;
  /** The card that is looked at, and how far. */
  #card: DeskCard | undefined;
  #top = 0;
  #seen = 0;
  #room = 1;
  #loading: Promise<void> = Promise.resolve();
  #nextLoad: Promise<void> | undefined;
  /** How many cards the next load is to bring at least. */
  #wanted = 0;
  readonly #holding: Holding;

  constructor(desk: Desk, terminal: Terminal, query: CardQuery) {
    this.#desk = desk;
    this.#holding = createHolding(
      desk,
      (id, hold) => this.#setHold(id, hold),
      () => this.#reload(),
    );
    this.#terminal = terminal;
    this.#query = query;
  }

  async list(): Promise<void> {
    this.#terminal.show((size) =>
      this.#frame(size, {
        title: 'Countersign inbox',
        aside: '',
        body: [{ text: ' Loading …' }],
        top: 0,
        keys: ['ctrl-c quit'],
      }),
    );
    const stop = this.#desk.watch(
      () => this.#reload(),
      (isThere) => this.#reached(isThere),
    );
    const clock = setInterval(() => this.#terminal.redraw(), REDRAWN_EVERY_MS);
    try {
      await this.#refresh();
      for (;;) {
        const pressed = await this.#terminal.ask(
          (size) => this.#drawList(size),
          (text, key) => this.#pressInList(text, key.name),
        );
        if (pressed === 'quit') return;
        if (pressed === 'help') await this.#help();
        else if (pressed === 'more') await this.#refresh(this.#cards.length + PAGE);
        else if (pressed === 'reload') await this.#refresh();
        else if (pressed === 'take') await this.#takeOrRelease(this.#selectedCard);
        else if (this.#selectedCard) await this.#look(this.#selectedCard, pressed === 'look' ? undefined : pressed);
      }
    } finally {
      stop();
      clearInterval(clock);
      await this.#holding.releaseAll();
    }
  }

  get #selectedCard(): DeskCard | undefined {
    return this.#cards[this.#selectedIndex];
  }

  /** Where the selected card is now; the first one if it is gone. */
  get #selectedIndex(): number {
    return Math.max(
      0,
      this.#cards.findIndex(({ id }) => id === this.#selected),
    );
  }

  #drawList(size: Size) {
    const now = Date.now();
    const at = this.#selectedIndex;
    const tools = Math.max(
      8,
      Math.min(22, ...[Math.max(0, ...this.#cards.map(({ tool }) => widthOf(visibleLine(tool))))]),
    );
    const body = this.#cards.map((card, index) =>
      listRow(card, index === at, size.columns, tools, now, this.#desk.person),
    );
    const parts = {
      title: `Countersign inbox · ${visibleLine(this.#desk.where)}`,
      aside: `${this.#cards.length}${this.#hasMore ? '+' : ''} waiting`,
      body: body.length > 0 ? body : [{ text: '' }, { text: ' Nothing waits for a person.', format: 'green' as const }],
      panel: troubleRows(this.#troubles(), size),
      notice: this.#notice,
      keys:
        this.#cards.length === 0
          ? ['g reload', '? help', 'q quit']
          : ['↑↓ move', '↵ look', 'a approve', 'r reject', 'e edit', 'w answer', '? help', 'q quit'],
    };
    this.#listTop = Math.min(scrolledTo(at, this.#listTop, bodyRoom(size, parts)), Math.max(0, body.length - 1));
    return this.#frame(size, { ...parts, top: this.#listTop });
  }

  #pressInList(
    text: string,
    name: string | undefined,
  ): 'quit' | 'help' | 'more' | 'reload' | 'look' | 'take' | Verb | undefined {
    const move = (by: number) => {
      this.#notice = undefined;
      const last = this.#cards.length - 1;
      const to = Math.max(0, Math.min(last, this.#selectedIndex + by));
      this.#selected = this.#cards[to]?.id;
      return to === last && by > 0 && this.#hasMore ? ('more' as const) : undefined;
    };
    if (text === 'q') return 'quit';
    if (text === '?') return 'help';
    if (text === 'g') return 'reload';
    if (text === 't') return this.#selectedCard?.mayDecide ? 'take' : undefined;
    if (name === 'down' || text === 'j') return move(1);
    if (name === 'up' || text === 'k') return move(-1);
    if (name === 'pagedown' || text === ' ') return move(10);
    if (name === 'pageup') return move(-10);
    if (name === 'home') return move(-this.#cards.length);
    if (name === 'end' || text === 'G') return move(this.#cards.length);
    if (name === 'return' || name === 'enter' || name === 'right' || text === 'l') return 'look';
    return verbOf(text, this.#selectedCard);
  }

  /** Shows a card until the person goes back or has decided. With `verb`, that is asked at once. */
  async #look(card: DeskCard, verb: Verb | undefined): Promise<void> {
    this.#card = card;
    this.#top = 0;
    this.#seen = 0;
    this.#notice = undefined;
    let next: Verb | 'back' | 'help' | 'take' | undefined = verb;
    let isDecided = false;
    const visit = this.#holding.visit(card);
    try {
      while (next !== 'back' && !isDecided) {
        if (next === 'help') await this.#help();
        else if (next === 'take') {
          visit.asked();
          await this.#takeOrRelease(this.#card);
        } else if (next !== undefined) {
          visit.begin(this.#card ?? card);
          isDecided = await this.#decide(next);
        }
        if (isDecided) break;
        next = await this.#terminal.ask(
          (size) => this.#drawCard(size),
          (text, key) => this.#pressInCard(text, key.name),
        );
      }
    } finally {
      visit.leave(isDecided);
      this.#card = undefined;
    }
  }

  async #takeOrRelease(card: DeskCard | undefined): Promise<void> {
    if (card) this.#notice = await this.#holding.toggle(card);
  }

  #setHold(interruptId: string, hold: DeskCard['hold']): void {
    const changed = (card: DeskCard): DeskCard => (card.id === interruptId ? { ...card, hold } : card);
    this.#cards = this.#cards.map(changed);
    if (this.#card) this.#card = changed(this.#card);
    this.#terminal.redraw();
  }

  #reload(): void {
    void this.#refresh().then(() => this.#terminal.redraw());
  }

  #drawCard(size: Size) {
    const { title, aside, body } = this.#backdrop();
    const rows = body(size.columns);
    const panel = troubleRows(this.#troubles(), size);
    const parts = { panel, notice: this.#notice, keys: [...keysOf(this.#card, this.#desk.person), '? help', 'q back'] };
    this.#room = bodyRoom(size, parts);
    this.#top = Math.max(0, Math.min(this.#top, rows.length - this.#room));
    this.#seen = readTo(this.#seen, this.#top, this.#room);
    return this.#frame(size, { title, aside, body: rows, top: this.#top, ...parts });
  }

  #pressInCard(text: string, name: string | undefined): Verb | 'back' | 'help' | 'take' | undefined {
    const top = scrolledBy(text, name, this.#top, this.#room);
    if (top !== undefined) this.#top = top;
    else if (name === 'escape' || name === 'left' || text === 'h' || text === 'q') return 'back';
    else if (text === '?') return 'help';
    else if (this.#card?.status === 'decided') return undefined;
    else if (text === 't') return this.#card?.mayDecide ? 'take' : undefined;
    else return verbOf(text, this.#card);
    return undefined;
  }

  /** True if the card is done with. */
  async #decide(verb: Verb): Promise<boolean> {
    const card = this.#card;
    if (!card) return true;
    this.#notice = undefined;
    const outcome = await this.#ask(verb, card).catch((error: unknown): Outcome => {
      if (error instanceof Interrupted) throw error;
      return { notice: { tone: 'bad', text: visibleLine(failureOf(error).message) } };
    });
    if (!('decision' in outcome)) {
      this.#notice = outcome.notice;
      return false;
    }
    return this.#send(card, outcome.decision);
  }

  #ask(verb: Verb, card: DeskCard): Promise<Outcome> {
    const backdrop = this.#backdrop();
    const asker: Asker = { prompts: createPrompts(this.#terminal), lend: this.#terminal.lend };
    switch (verb) {
      case 'approve':
        return askApproval(card, backdrop, asker);
      case 'edit':
        return askEdit(card, backdrop, asker);
      case 'reject':
      case 'cancel':
        return askRefusal(verb, card, backdrop, asker);
      case 'respond':
        return askAnswer(card, backdrop, asker);
    }
  }

  /** What is sent is bound to the card that was shown. */
  async #send(card: DeskCard, decision: DecisionInput): Promise<boolean> {
    const { title, aside, body } = this.#backdrop();
    let known = onItsWayText(card);
    this.#terminal.show(
      (size) => this.#frame(size, { title, aside, body: body(size.columns), top: 0, keys: ['sending …'] }),
      () => known,
    );
    try {
      const decided = await this.#desk.decide(card.id, decision, { digest: card.digest });
      known = `${visibleLine(card.tool)}: ${recordedText(decided)}`;
      this.#notice = { tone: 'good', text: known };
      await this.#refresh();
      return true;
    } catch (error) {
      const { code, message } = failureOf(error);
      known = visibleLine(message);
      this.#notice = { tone: 'bad', text: known };
      if (code !== 'already-decided' && code !== 'outdated-card') return false;
      await this.#refresh();
      const { decision: recorded } = await this.#desk.card(card.id).catch(() => card);
      if (recorded) {
        const { by, at, channel, note, ...said } = recorded;
        const text = recordedText({ decision: said, by, at, channel, note });
        const isOwn = by !== null && by === this.#desk.person;
        const who = isOwn ? 'You had decided before: this was not' : 'Somebody was first, and nothing of yours was';
        this.#notice = { tone: 'bad', text: `${who} recorded. ${text}` };
      }
      return true;
    }
  }

  #backdrop(): Backdrop {
    const now = Date.now();
    return {
      title: `Countersign inbox › ${visibleLine(this.#card?.tool ?? '')}`,
      aside: `${this.#selectedIndex + 1} of ${this.#cards.length}${this.#hasMore ? '+' : ''}`,
      body: (columns) => (this.#card ? cardRows(this.#card, columns, now, this.#desk.person) : []),
      top: this.#top,
      seen: this.#seen,
      warnings: () => this.#warnings(),
    };
  }

  /** What somebody should know before they decide. */
  #warnings(): readonly string[] {
    const hold = this.#card && othersHold(this.#card, this.#desk.person, Date.now());
    return [...this.#troubles(), ...(hold === undefined ? [] : [`${hold}. You may decide all the same.`])];
  }

  #troubles(): readonly string[] {
    if (this.#lostAt === undefined) return this.#trouble === undefined ? [] : [this.#trouble];
    const since = timeText(this.#lostAt).slice(-8);
    return [`No connection to ${visibleLine(this.#desk.where)} since ${since}. It is tried again all the time.`];
  }

  #reached(isThere: boolean): void {
    if (isThere === (this.#lostAt === undefined)) return;
    this.#lostAt = isThere ? undefined : Date.now();
    this.#terminal.redraw();
  }

  async #help(): Promise<void> {
    let [top, room] = [0, 1];
    await this.#terminal.ask(
      (size) => {
        const body = helpRows(size.columns);
        const parts = { title: 'Countersign inbox › help', aside: '', keys: ['↑↓ scroll', 'any other key goes back'] };
        room = bodyRoom(size, parts);
        top = Math.max(0, Math.min(top, body.length - room));
        return this.#frame(size, { ...parts, body, top });
      },
      (text, { name }) => {
        const to = scrolledBy(text, name, top, room);
        if (to === undefined) return true;
        top = to;
        return undefined;
      },
    );
  }

  #frame = (size: Size, parts: Parts) => frame(size, this.#terminal.style, parts);

  /**
   * Loads what waits; one at a time, since a slow store must not be asked faster than it answers. A load on its way may have
   * read before what changed, so that one more follows it.
   */
  #refresh(least = PAGE): Promise<void> {
    this.#wanted = Math.max(least, this.#wanted);
    this.#nextLoad ??= this.#loading.then(() => {
      const wanted = Math.max(this.#wanted, this.#cards.length);
      this.#wanted = 0;
      this.#nextLoad = undefined;
      this.#loading = this.#load(wanted);
      return this.#loading;
    });
    return this.#nextLoad;
  }

  async #load(wanted: number): Promise<void> {
    try {
      const cards: DeskCard[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<Desk['cards']>> = await this.#desk.cards({
          ...this.#query,
          limit: PAGE,
          ...(cursor !== null && { cursor }),
        });
        cards.push(...page.items);
        cursor = page.cursor;
      } while (cursor !== null && cards.length < wanted);
      const before = this.#selectedIndex;
      this.#cards = cards;
      this.#hasMore = cursor !== null;
      // Where the selected card was decided, the next one takes its place.
      if (!cards.some(({ id }) => id === this.#selected))
        this.#selected = cards[Math.min(before, cards.length - 1)]?.id;
      const { id } = this.#card ?? {};
      const shown = cards.find((card) => card.id === id);
      // What is looked at stays as it is; only who works on it may have changed.
      if (this.#card && shown) this.#card = { ...this.#card, hold: shown.hold };
      else if (id !== undefined) this.#card = await this.#desk.card(id);
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = `Cannot load what waits: ${visibleLine(failureOf(error).message)}`;
    }
  }
}

const troubleRows = (troubles: readonly string[], { columns }: Size): readonly Row[] =>
  troubles.flatMap((text) => wrap(text, columns - 2)).map((text) => ({ text: ` ${text}`, format: 'red' }));
