// The default theme with the colours of the inbox, and the inbox on the first page.
import { defineClientComponent, type Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import phone from '../../images/approver-phone.png';
import light from '../../images/inbox.png';
import dark from '../../images/inbox-dark.png';
import './style.css';

const INBOX =
  'The inbox: requests that wait on the left; on the right the payment of €950 to ACME with its input, risk and deadline, ' +
  'and the buttons Approve, Edit and Reject.';

const INBOX_OF_A_PHONE =
  'A request on a phone: a payment of €1,950 to ACME, one of two votes, and the buttons Approve, Edit and Reject.';

/** It brings the engine along, so it loads only where it is shown. */
const Playground = defineClientComponent(() => import('./playground/Playground.vue'));

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-after': () =>
        h('div', { class: 'inbox' }, [
          h('img', { class: 'wide light-only', src: light, alt: INBOX, width: 1920, height: 1200 }),
          h('img', { class: 'wide dark-only', src: dark, alt: INBOX, width: 1920, height: 1200, loading: 'lazy' }),
          h('img', { class: 'phone-only', src: phone, alt: INBOX_OF_A_PHONE, width: 780, height: 1688 }),
        ]),
    }),
  enhanceApp: ({ app }) => {
    app.component('Playground', Playground);
  },
} satisfies Theme;
