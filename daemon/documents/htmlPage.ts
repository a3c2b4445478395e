import { html, Html, policyFor } from './html.ts'

const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentcolor 18%, transparent); --accent: light-dark(#4547c9, #a5a7ff) }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem 1.25rem 4rem }
h1, h2, h3 { line-height: 1.25 } h2 { margin-top: 2.5rem } a { color: var(--accent) }
code, pre { font: 14px/1.5 ui-monospace, monospace }
:not(pre, td:first-child) > code { padding: .1em .3em; border-radius: 4px; background: color-mix(in srgb, currentcolor 8%, transparent) }
pre { overflow: auto; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; padding-bottom: 1rem; border-bottom: 1px solid var(--line) }
header nav { flex: 1 } header input { font: inherit; width: 16rem; max-width: 100%; padding: .25rem .5rem } header button { font: inherit }
nav a { margin-right: 1rem } mark { background: light-dark(#ffe9a8, #6b5200); color: inherit } li { margin: .25rem 0 }
details { border-top: 1px solid var(--line); padding: .4rem 0 } summary { cursor: pointer }
summary b { display: inline-block; min-width: 4rem } summary span { opacity: .7 }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: .3rem 1.25rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
`

/** Returns a complete page that loads nothing and cannot run scripts. */
export function page(title: string, body: Html, { formAction = "'none'" }: { formAction?: string } = {}): Response {
  const { text } =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${new Html(style)}</style><body>${body}</body></html>\n`
  return new Response(text, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `${policyFor(style, formAction)}; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    },
  })
}
