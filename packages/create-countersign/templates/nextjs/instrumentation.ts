// Next.js calls this once when the server starts: it opens the chat, which resumes unfinished runs.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { openChat } = await import('./server/chat.ts');
  openChat();
}
