// The recipe's first version.
import { LowLevelChat } from '../../recipe/low-level-chat.tsx';
import { chosenModel } from '../../server/model.ts';

// Which model answers is known when the server runs, not when the app is built.
export const dynamic = 'force-dynamic';

export default async function Page() {
  const { name, isDemo } = await chosenModel();
  return <LowLevelChat model={{ name, isDemo }} />;
}
