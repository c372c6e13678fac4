// Ends the session of this browser.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { mount } from '../api/mount.ts';
import { meQuery } from '../api/queries.ts';
import { showToast } from './toasts.tsx';

export function SignOutButton() {
  const client = useQueryClient();
  const leave = useMutation({
    mutationFn: async () => {
      const response = await fetch(new URL('logout', mount), { method: 'POST', credentials: 'same-origin' });
      if (!response.ok) throw new Error('Could not sign you out.');
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
    onSuccess: () => {
      // Still signed in after the session ended: a proxy signs the user in.
      if (client.getQueryState(meQuery.queryKey)?.status === 'success')
        showToast('trouble', 'Your organisation signs you in. Sign out there.');
    },
    onError: (error) => showToast('trouble', error.message),
  });
  return (
    <button
      type="button"
      className="button-quiet"
      title="Sign out"
      aria-disabled={leave.isPending}
      onClick={() => !leave.isPending && leave.mutate()}
    >
      <LogOut aria-hidden="true" className="size-4" />
      <span className="sr-only">Sign out</span>
    </button>
  );
}
