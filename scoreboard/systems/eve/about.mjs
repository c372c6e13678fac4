// eve: an agent with a tool that needs approval, on its own server, with its local store.
export const about = {
  name: 'eve',
  packages: ['eve', 'ai'],
  store: 'its local store: files',
  keeps: 'its files have it',
  // Of five at once, none has begun to pay when the process is killed.
  atOnce: 1,
};
