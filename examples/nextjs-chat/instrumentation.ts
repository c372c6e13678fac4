// Runs once when the server starts: what was left unfinished is taken up before anybody asks.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { openChat } = await import('./server/chat.ts');
  await openChat();
}
