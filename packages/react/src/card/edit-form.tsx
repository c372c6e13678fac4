// Edits the input of a call, in the place where the input was shown.
import type { RequestCard } from 'countersign/ui';
import { useWords } from '../appearance.tsx';
import { QuestionForm } from '../form/question-form.tsx';
import type { UseRequests } from '../use-requests.ts';
import { InputDiff } from './input-diff.tsx';

type EditFormProps = {
  readonly interrupt: RequestCard<string, any>;
  readonly actions: UseRequests<any>;
  readonly onDraft: (draft: unknown) => void;
  readonly onBack: () => void;
};

export function EditForm({ interrupt, actions, onDraft, onBack }: EditFormProps) {
  const words = useWords();
  return (
    <QuestionForm
      schema={interrupt.inputSchema ?? {}}
      initial={interrupt.input}
      label={words.input}
      problems={actions.problems(interrupt.id)}
      disabled={actions.deciding.has(interrupt.id)}
      submitLabel={words.approveEdited}
      onSubmit={(input) => actions.edit(interrupt, input)}
      onDraft={onDraft}
      onCancel={onBack}
      preview={(after) => after !== undefined && <InputDiff before={interrupt.input} after={after} />}
    />
  );
}
