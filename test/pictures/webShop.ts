import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client } from '../../src/client/index.ts'

/** The project in the pictures. `running` has a running agent, `reviewed` a change that waits for a review. */
export interface WebShop {
  projectId: string
  running: string
  reviewed: string
}

export const agent = 'coder'

const files = {
  'README.md': '# Web shop\n\nA small shop.\n',
  'src/customer.ts': 'export interface Customer {\n  isCompany: boolean\n}\n',
  'src/cart/tax.ts': `export interface Line {
  price: number
  count: number
  taxPercent: number
}

export const taxOf = ({ price, count, taxPercent }: Line): number => Math.round((price * count * taxPercent) / 100)
`,
  'src/cart/total.ts': `import { taxOf, type Line } from './tax.ts'

/** The total of a cart. */
export function total(lines: readonly Line[]): number {
  return lines.reduce((sum, line) => sum + line.price * line.count + taxOf(line), 0)
}
`,
  'src/login/redirect.ts': "export function afterLogin(session: Session): string {\n  return '/account'\n}\n",
}

const backlog: [title: string, ...labels: string[]][] = [
  ['Search is slow with 100,000 products', 'performance'],
  ['Sort product names in every language', 'i18n'],
  ['Write the changelog for 2.4'],
  ['Retry failed payments once an hour', 'payments', 'cron'],
  ['Show the delivery date in the cart', 'cart'],
  ['Let customers save several addresses', 'account'],
  ['Offer gift cards', 'payments'],
]
const done: typeof backlog = [
  ['Dark mode', 'design'],
  ['Fewer emails', 'account'],
  ['Ask before an order is cancelled', 'cart'],
  ['Cache the category tree', 'performance'],
  ['Export orders as CSV'],
]
const active: [title: string, prompt: string, labels: string[], reaches: string][] = [
  ['Fix the login redirect that loses the return address', 'Fix it for every login form.', ['bug'], 'running'],
  ['Upgrade the image pipeline', 'Ask before you install anything.', ['deps'], 'waiting'],
  ['Show prices without tax to companies', 'Taxes stay unchanged; test both.', ['payments'], 'completed'],
  ['Move sessions to Redis', 'Fail early where there is none.', ['infrastructure'], 'failed'],
]

/** Creates the shop's repository and its board, and waits until each agent has reached its state for the picture. */
export async function makeWebShop(client: Client, path: string): Promise<WebShop> {
  makeRepository(path)
  const { id: projectId } = await client.projects.create({ name: 'web-shop', path })
  const [first, second, last] = (await client.columns.list({ projectId })).map(({ id }) => id)
  const add = (columnId: string | undefined, some: typeof backlog) =>
    inTurn(some, ([title, ...labels]) =>
      client.cards.create({ projectId, columnId, title, labels, prompt: `${title}.` }),
    )
  await add(first, backlog)
  await add(last, done)
  const started = await inTurn(active, async ([title, prompt, labels, reaches]) => {
    const { id: cardId } = await client.cards.create({ projectId, columnId: second, title, prompt, labels, agent })
    const giveUpAt = Date.now() + 30_000
    while ((await client.cards.get({ projectId, cardId })).status !== reaches) {
      if (Date.now() > giveUpAt) throw new Error(`"${title}" has not come to ${reaches}.`)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    return cardId
  })
  const [running, , reviewed] = started as [string, string, string]
  await client.reviews.putDraft({
    projectId,
    cardId: reviewed,
    body: 'Good. Two small things.',
    comments: [
      { path: 'src/cart/total.ts', line: 8, body: 'Is the tax also rounded line by line on the invoice?' },
      { path: 'test/total.test.ts', startLine: 6, line: 8, body: 'Please add a cart with two rates of tax.' },
    ],
  })
  return { projectId, running, reviewed }
}

async function inTurn<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const made: R[] = []
  for (const one of all) made.push(await work(one))
  return made
}

function makeRepository(path: string): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path, '-c', 'user.name=board', '-c', 'user.email=board@example.org', ...args])
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-q', '-m', 'Begin')
}
