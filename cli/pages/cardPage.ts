import { html, type Html } from '../../src/config/html.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { withColumnName, type Card } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { hiddenByPerson, readMessages, type Message } from '../agents/messages.ts'
import { facts, labelMarks, note, statusMark, time, type Page } from './page.ts'
import { loadProse, prose } from './prose.ts'
import { readable } from './readable.ts'
import { drawTranscript, type Session } from './transcript.ts'

type Attachment = Output<Contract['attachments']['list']>[number]
type Step = Output<Contract['cards']['getPipeline']>['steps'][number]
interface Whole {
  card: Card
  projectName?: string
  steps?: Step[]
  attachments?: Attachment[]
  sessions?: Session[]
  messages?: Message[]
}

const maxMessages = 1000

/** A card with everything that is known of it: its prompt, what its agents said and did, its files. */
export async function cardPage(context: Context, found: Card): Promise<Page> {
  const [whole, isHidden] = await Promise.all([readWhole(context, found), hiddenByPerson(context), loadProse()])
  const { card, sessions, messages } = whole
  const shown = (messages ?? []).slice(-maxMessages).filter(message => !isHidden(message))
  const missing = Object.entries({
    'its pipeline': whole.steps,
    'its attachments': whole.attachments,
    'what its agents said': messages,
  })
    .filter(([, value]) => value === undefined)
    .map(([name]) => name)
  return {
    title: `${card.title} · #${card.id}`,
    name: `card-${card.id}`,
    header: header(whole),
    body: html`<div class="beside"><section><h2>Prompt</h2><div class="sheet">${promptOf(card)}</div></section>
${aside(whole)}
<section>${missing.length > 0 ? note(`The token may not read ${missing.join(', ')}.`) : undefined}
${messages ? html`<h2>Transcript</h2>${messages.length > maxMessages ? note(`These are the last ${maxMessages} messages. All of them: board agents messages ${card.id} --all`) : undefined}${drawTranscript(sessions ?? [], shown)}` : undefined}</section></div>`,
  }
}

async function readWhole(context: Context, found: Card): Promise<Whole> {
  const { client, external } = context
  const place = { projectId: found.projectId, cardId: found.id }
  const [card, project, pipeline, attachments, sessions, messages] = await Promise.all([
    withColumnName(context, found),
    external ? undefined : readable(client.projects.get({ id: found.projectId })),
    readable(client.cards.getPipeline(place)),
    readable(client.attachments.list(place)),
    readable(client.agents.sessions(place)),
    readable(readMessages(context, place, {}, maxMessages + 1)),
  ])
  return { card, projectName: project?.name, steps: pipeline?.steps, attachments, sessions, messages }
}

const header = ({ card, projectName }: Whole): Html => html`
<div class="where">${projectName ?? `Project ${card.projectId}`} &rsaquo; ${card.columnName ?? `column ${card.columnId}`} &rsaquo; #${card.id}</div>
<h1>${card.title}</h1>
<div class="marks">${statusMark(card.status, card.statusReason)}${card.archivedAt ? html` <span class="label">archived</span>` : undefined}${labelMarks(card.labels)}</div>`

function promptOf({ prompt, command }: Card): Html {
  if (command) return html`<pre>${command}</pre>${prompt?.trim() ? prose(prompt) : undefined}`
  return prompt?.trim()
    ? prose(prompt)
    : html`<p class="dim">No prompt: the agent gets the title and the prompt of its column.</p>`
}

const maybeTime = (iso: string | null | undefined): Html | undefined => (iso ? time(iso) : undefined)

const aside = ({ card, steps = [], attachments = [] }: Whole): Html => html`<aside class="sheet"><h2>About</h2>${facts([
  ['Created', maybeTime(card.createdAt)],
  ['Updated', maybeTime(card.updatedAt)],
  ['Started', maybeTime(card.startedAt)],
  ['Ended', maybeTime(card.endedAt)],
  ['Archived', maybeTime(card.archivedAt)],
  ['Agent', card.agent],
  ['Branch', card.gitBranch ? html`<code>${card.gitBranch}</code>` : undefined],
  ['Worktree', card.worktreePath ? html`<code>${card.worktreePath}</code>` : undefined],
  ['Group', card.groupId],
  ['Auto mode', card.autoMode ? 'on' : undefined],
  ['Waits', card.deferred ? 'to be started' : undefined],
  ['Last action', card.lastAgentAction?.detail ?? card.lastAgentAction?.type],
])}
${steps.length > 0 ? html`<h2>Pipeline</h2><ol>${steps.map(({ columnId, columnName, approval }) => html`<li>${columnId === card.columnId ? html`<b>${columnName}</b>` : columnName}${approval === 'manual' ? html` <span class="dim">waits for approval</span>` : undefined}</li>`)}</ol>` : undefined}
${attachments.length > 0 ? html`<h2>Attachments</h2><ul>${attachments.map(({ filename, size }) => html`<li>${filename} <span class="dim">${sizeOf(size)}</span></li>`)}</ul>` : undefined}</aside>`

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`
}
