// Runs once when the server starts, and resumes unfinished runs.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { openChat } = await import('./server/chat.ts');
  await openChat();
}
