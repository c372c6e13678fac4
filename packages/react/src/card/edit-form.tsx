// Edits the input of a call, in the place where the input was shown.
import type { RequestCard } from 'countersign/ui';
import { useWords } from '../appearance.tsx';
import { QuestionForm } from '../form/question-form.tsx';
import type { UseRequests } from '../use-requests.ts';
import { InputDiff } from './input-diff.tsx';

type EditFormProps = {
  readonly request: RequestCard<string, any>;
  readonly actions: UseRequests<any>;
  readonly onDraft: (draft: unknown) => void;
  readonly onBack: () => void;
  readonly kept: { current: unknown };
};

export function EditForm({ request, actions, onDraft, onBack, kept }: EditFormProps) {
  const words = useWords();
  return (
    <QuestionForm
      schema={request.inputSchema ?? {}}
      initial={request.input}
      label={words.input}
      problems={actions.problems(request.id)}
      disabled={actions.deciding.has(request.id)}
      submitLabel={words.approveEdited}
      onSubmit={(input) => actions.edit(request, input)}
      onDraft={onDraft}
      onCancel={onBack}
      kept={kept}
      preview={(after) =>
        after !== undefined && <InputDiff before={request.input} after={after} schema={request.inputSchema} />
      }
    />
  );
}
