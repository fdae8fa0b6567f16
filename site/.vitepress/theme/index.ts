import type {Theme} from 'vitepress';
import {useRoute, withBase} from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import {defineComponent, h, nextTick, onMounted, watch} from 'vue';
import DrawDigit from './DrawDigit.vue';
import './style.css';

/** What code on the pages calls this site. */
const ADDRESS = 'https://gossamer.example/';

/** Commands that fetch from this site name the server that it was read from, so that they can be pasted; what the theme lacks for keyboards and screen readers is added. */
function improve(): void {
  const here = new URL(withBase('/'), location.href).href;
  for (const code of document.querySelectorAll('.vp-doc pre code')) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeValue?.includes(ADDRESS)) node.nodeValue = node.nodeValue.replaceAll(ADDRESS, here);
    }
  }
  // Headings of the sidebar are buttons already; the arrows in them must not be others.
  for (const arrow of document.querySelectorAll('.VPSidebarItem .item[role=button] .caret')) {
    for (const name of ['role', 'tabindex', 'aria-label']) arrow.removeAttribute(name);
    arrow.setAttribute('aria-hidden', 'true');
  }
  // Code that scrolls can be scrolled by keys.
  for (const block of document.querySelectorAll<HTMLElement>('.vp-doc pre, .vp-doc table')) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
}

const Layout = defineComponent(() => {
  const route = useRoute();
  const update = (): void => void nextTick(improve);
  onMounted(update);
  watch(() => route.path, update);
  // The first page's picture is a model that runs.
  return () => h(DefaultTheme.Layout, null, {'home-hero-image': () => h(DrawDigit)});
});

export default {
  extends: DefaultTheme,
  Layout,
  enhanceApp({app}) {
    app.component('DrawDigit', DrawDigit);
  },
} satisfies Theme;
