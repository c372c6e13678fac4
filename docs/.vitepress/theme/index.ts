// The default theme with the colours of the inbox, and the loop on the first page.
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import loop from '../../images/loop.svg';
import './style.css';

const LOOP =
  'The loop: the model is asked, its calls pass the gate and the tool body, and results go back. ' +
  'The gate and the body can pause the run until a person decides.';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, { 'home-hero-image': () => h('img', { class: 'loop', src: loop, alt: LOOP }) }),
};
