import { html, Html, policyFor } from './html.ts'

const style = `
:root { color-scheme: light dark } body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 13px/1.5 ui-monospace, monospace } pre { overflow: auto; padding: .75rem; border: 1px solid #8884; border-radius: 4px }
details { border-top: 1px solid #8884; padding: .4rem 0 } summary { cursor: pointer } summary b { display: inline-block; min-width: 4rem } summary span { opacity: .7 }
table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0; vertical-align: top } nav a { margin-right: 1rem }
`
const policy = `${policyFor(style)}; frame-ancestors 'none'`

/** A whole page that needs nothing from elsewhere and may run nothing. */
export function page(title: string, body: Html): Response {
  const { text } =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${new Html(style)}</style><body>${body}</body></html>\n`
  return new Response(text, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    },
  })
}
