import { html, type Html } from '../../src/config/html.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Message } from '../agents/messages.ts'
import { usageOf } from '../agents/sessionFields.ts'
import { note, statusMark, time } from './page.ts'
import { cut, prose } from './prose.ts'

export type Session = Output<Contract['agents']['sessions']>[number]
type Tool = NonNullable<Message['tool']>

/** What goes into a tool and comes out of it can be whole files. */
const maxToolLength = 20_000
/** A browser shows as much without trouble. */
const maxTotalLength = 3_000_000

/** What was said and done on a card, session by session. */
export function drawTranscript(sessions: readonly Session[], messages: readonly Message[]): Html {
  if (sessions.length === 0 && messages.length === 0) return html`<p class="dim">No agent has worked on this card.</p>`
  const { kept, left } = bounded(messages)
  const known = new Map(sessions.map(session => [session.sessionId ?? '', session]))
  const ids = [...new Set([...known.keys(), ...kept.map(({ sessionId }) => sessionId)])]
  return html`${left > 0 ? note(`The transcript is long; its first ${left} messages are left out.`) : undefined}
${ids.map(id =>
  drawSession(
    id,
    known.get(id),
    kept.filter(({ sessionId }) => sessionId === id),
  ),
)}`
}

/** The last messages that are together no longer than a page may be, at least one. */
function bounded(messages: readonly Message[]): { kept: Message[]; left: number } {
  let length = 0
  const tooMuch = messages.findLastIndex(message => (length += lengthOf(message)) > maxTotalLength)
  const kept = messages.slice(Math.max(0, Math.min(tooMuch + 1, messages.length - 1)))
  return { kept, left: messages.length - kept.length }
}

const lengthOf = ({ content, tool }: Message): number =>
  tool ? partsOf(tool, content).reduce((sum, text) => sum + Math.min(text.length, maxToolLength), 0) : content.length

const drawSession = (id: string, session: Session | undefined, messages: readonly Message[]): Html => html`
<div class="session"><h3>Session ${id}</h3>${
  session
    ? html`${statusMark(session.status, session.statusReason)} <span>${[session.agent, session.model].filter(Boolean).join(', ')}</span>
<span>${session.startedAt ? time(session.startedAt) : undefined}${session.endedAt ? html` &ndash; ${time(session.endedAt)}` : undefined}</span> <span>${session.usage ? `tokens: ${usageOf(session)}` : undefined}</span>`
    : undefined
}</div>
${session?.waitingFor ? note(`It waits for you: ${session.waitingFor}`) : undefined}
${messages.map(message => drawMessage(message, session?.agent ?? 'agent'))}
${messages.length === 0 ? html`<p class="dim">Nothing is shown of what was said.</p>` : undefined}
${session?.summary && !isSaid(session.summary, messages) ? html`<details class="thought"><summary>Summary</summary><p>${session.summary}</p></details>` : undefined}`

/** A summary is often what was said last, in one line that is cut. */
const isSaid = (summary: string, messages: readonly Message[]): boolean =>
  messages.some(({ content }) => oneLine(content).includes(oneLine(summary.replace(/\u2026$/, ''))))
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

function drawMessage(message: Message, agent: string): Html {
  const { role, content, tool, at } = message
  if (tool) return drawTool(tool, content)
  if (role === 'thought') return html`<details class="thought"><summary>Thought</summary>${prose(content)}</details>`
  const speaker = { user: 'you', agent, plan: 'plan', system: 'system', tool: 'tool' }[role]
  return html`<article class="message ${role}"><h4><span>${speaker}</span>${time(at)}</h4>${prose(content)}</article>\n`
}

/** Closed, but for one that failed: what went in and out is there for who wants to see it. */
function drawTool(tool: Tool, content: string): Html {
  const { name, kind, status, locations } = tool
  const places = locations
    .filter(({ path }) => !name.includes(path.split('/').at(-1)!))
    .map(({ path, line }) => (line === null ? path : `${path}:${line}`))
  const parts = partsOf(tool, content)
  const head = html`<b>${name || kind}</b> <span>${[...(name ? [kind] : []), ...places.slice(0, 3)].join(' · ')}</span> ${status === 'completed' ? undefined : html`<span class="${status}">${status.replace('_', ' ')}</span>`}`
  return parts.length === 0
    ? html`<details class="tool"><summary>${head}</summary><p class="dim">Nothing is known of it.</p></details>\n`
    : html`<details class="tool"${status === 'failed' ? html` open` : undefined}><summary>${head}</summary>${parts.map(text => html`<pre>${cut(text, maxToolLength)}</pre>`)}</details>\n`
}

/** What went in and came out, each text once. */
const partsOf = ({ input, output }: Tool, content: string): string[] =>
  [...new Set([textOf(input), content.trim(), textOf(output)])].filter(text => text !== '')

/** A single text as it is, all else as JSON. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value.trim() : JSON.stringify(value, null, 2)
}
