// The state of the playground: the scene that runs, what it shows, and what its buttons do.
import type { DecisionInput, RunRequest } from 'countersign';
import { computed, onBeforeUnmount, onMounted, ref, shallowRef } from 'vue';
import type { Moment } from './engine.ts';
import { ANN, type Person, Scene, type SceneName, type Shown } from './scene.ts';

export const SCENES: Record<SceneName, { readonly title: string; readonly text: string }> = {
  payment: {
    title: 'A gated payment',
    text: 'The agent wants to pay. The call waits for you: approve it, change the amount, or reject it.',
  },
  crash: {
    title: 'A crash',
    text: 'Choose a moment, and approve the payment. The engine stops there, and you can crash it. Another engine continues on the same store.',
  },
  forgery: {
    title: 'A forged approval',
    text: 'Two payments wait. Try to get the large one paid by an approval that nobody gave.',
  },
  approvers: {
    title: 'Two approvers',
    text: 'This payment needs two people of finance. One person counts once.',
  },
};

export const MOMENTS: Record<Moment, string> = {
  before: 'before the payment starts',
  during: 'during the payment, before the bank has it',
  after: 'after the bank has paid, before the result is recorded',
};

export const PEOPLE: readonly Person[] = [ANN, { by: 'Bea', roles: ['finance'] }, { by: 'Max', roles: ['sales'] }];

export const inputOf = (request: RunRequest) => request.input as { readonly to: string; readonly amount: number };
export const isLarge = (request: RunRequest): boolean => inputOf(request).amount === LARGE;
export const euro = (value: number): string => `€${value.toLocaleString('en')}`;

const LARGE = 950;

export function usePlayground() {
  const name = ref<SceneName>('payment');
  const moment = ref<Moment>('after');
  const amount = ref(LARGE);
  const shown = shallowRef<Shown>();
  const scene = shallowRef<Scene>();

  const requests = computed(() => shown.value?.requests ?? []);
  const cards = computed(() => requests.value.filter(({ kind }) => kind === 'approval'));
  const doubts = computed(() => requests.value.filter(({ kind }) => kind === 'doubt'));
  const isAsked = computed(() => (shown.value?.timeline.length ?? 0) > 0);
  const engineText = computed(() => {
    const { engine = 1, stopped = false } = shown.value ?? {};
    if (stopped) return `Engine ${engine} stopped ${MOMENTS[moment.value]}.`;
    return engine === 1
      ? 'Engine 1 runs.'
      : `Engine ${engine - 1} crashed. Engine ${engine} runs on the same store. It takes over once the claim of engine ${engine - 1} has lapsed.`;
  });

  function show(next: SceneName): void {
    scene.value?.close();
    name.value = next;
    amount.value = LARGE;
    shown.value = undefined;
    const mine = new Scene({ votes: next === 'approvers' ? 2 : 1 }, (now) => {
      if (scene.value === mine) shown.value = now;
    });
    scene.value = mine;
  }

  async function ask(): Promise<void> {
    const stopAt = name.value === 'crash' ? moment.value : undefined;
    await scene.value?.ask(`Pay ACME €${LARGE} for invoice 7.`, stopAt);
    if (name.value === 'forgery') await scene.value?.ask('Pay Birch €20 for paper.');
  }

  function decide(request: RunRequest, decision: DecisionInput, person = ANN): void {
    void scene.value?.decide(request, decision, person);
  }

  /** With the amount as the visitor has edited it. */
  function approve(request: RunRequest): void {
    const isEdited = name.value === 'payment' && amount.value !== inputOf(request).amount;
    decide(request, isEdited ? { type: 'approve', edit: { ...inputOf(request), amount: amount.value } } : 'approve');
  }

  /** Sends the approval of the small payment to the large one. */
  function replay(request: RunRequest): void {
    const small = cards.value.find((card) => !isLarge(card));
    if (small) void scene.value?.decide(request, 'approve', ANN, small.digest);
  }

  onMounted(() => show('payment'));
  onBeforeUnmount(() => scene.value?.close());
  return { name, moment, amount, shown, scene, cards, doubts, isAsked, engineText, show, ask, decide, approve, replay };
}
