// The service worker: shows pushed notices, and opens the request of a notification. It answers no requests and stores nothing.

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('push', (event) => {
  const { title = 'Countersign', body = '', tag = '', link = '' } = event.data?.json() ?? {};
  // A later notice about the same request replaces the one before.
  event.waitUntil(
    self.registration.showNotification(title, {
      body,
      tag,
      icon: new URL('icon-192.png', self.registration.scope).href,
      data: { link },
    }),
  );
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(ownAddress(event.notification.data?.link)));
});

/** Only pages of this app are opened. */
function ownAddress(link) {
  const { scope } = self.registration;
  const url = URL.canParse(link, scope) ? new URL(link, scope).href : scope;
  return url.startsWith(scope) ? url : scope;
}

/** In the window that is open already, if there is one. */
async function open(url) {
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const shown = windows.find((client) => client.url.startsWith(self.registration.scope));
  if (!shown) return self.clients.openWindow(url);
  shown.postMessage({ open: url });
  return shown.focus();
}
