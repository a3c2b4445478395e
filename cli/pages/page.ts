import { html, Html, policyFor } from '../../src/config/html.ts'
import { version } from '../../src/config/version.ts'
import type { Context } from '../context/context.ts'
import { harmless } from '../output/text.ts'
import { style } from './style.ts'

export interface Page {
  /** What the window is called. */
  title: string
  /** The file's name without its ending: small letters, digits and hyphens. */
  name: string
  header: Html
  body: Html
  /** It takes the window's whole width. */
  isWide?: boolean
}

/** A whole page as text. It needs nothing from elsewhere and runs nothing, and of what stands in it nothing can steer a terminal or turn the direction of what is around it. */
export function drawPage({ connection }: Pick<Context, 'connection'>, { title, header, body, isWide }: Page): string {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policyFor(style)}"><meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} &middot; board</title><style>${new Html(style)}</style></head>
<body class="${isWide ? 'wide' : ''}"><header>${header}</header>
<main>${body}</main>
<footer>As it was on ${time(new Date().toISOString())} (${Intl.DateTimeFormat().resolvedOptions().timeZone}), from ${originOf(connection.url)}, by board ${version}.</footer></body></html>
`
  return harmless(text, true)
}

/** Without a name or a password that somebody put into the URL. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '')

const clock = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** A time of the API, as the clock on the wall here shows it. */
export function time(iso: string): Html {
  const date = new Date(iso)
  return Number.isNaN(date.getTime())
    ? html`${iso}`
    : html`<time datetime="${date.toISOString()}">${clock.format(date)}</time>`
}

/** How a card or a session stands, and why. */
export const statusMark = (status: string, reason?: string | null): Html =>
  html`<span class="status ${status}">${status}${reason ? html`: ${reason.replaceAll('_', ' ')}` : undefined}</span>`

export const labelMarks = (labels: readonly string[]): Html[] =>
  labels.map(label => html` <span class="label">${label}</span>`)

/** Named values, without those that are missing. */
export const facts = (
  pairs: readonly (readonly [name: string, value: Html | string | number | null | undefined])[],
): Html =>
  html`<dl>${pairs.flatMap(([name, value]) => (value === null || value === undefined || value === '' ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`]))}</dl>`

/** `1 card`, `2 cards`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

/** What the reader should know of the page itself. */
export const note = (text: string): Html => html`<p class="note">${text}</p>`
