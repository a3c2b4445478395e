import { mkdirSync, writeFileSync } from 'node:fs'
import type { AccountSettings } from '../git/accountSettings.ts'
import { encodeFailure } from './failures.ts'
import { encodeMessage, readMessages } from './messages.ts'
import { operations, type Operation, type OperationName, type Send } from './operations.ts'
import type { OperationRequest, OperationResponse } from './worktreeProcess.ts'

/** The program inside the sandbox of a worktree: it runs operations that the server requests (worktreeProcess.ts). */
const folder = '/tmp/board-account'
const [configuration, ignoreList] = [`${folder}/config`, `${folder}/ignore`]
let applied = ''

/** Writes the account's settings where Git reads them. The home folder is empty here. */
function apply(account: AccountSettings): void {
  const text = JSON.stringify(account)
  if (text === applied) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(ignoreList, account.ignoreList)
  const settings = [...account.settings, ['core.excludesfile', ignoreList] as const].map(
    ([name, value]) => `[core]\n${name.slice('core.'.length)} = ${quoted(value)}\n`,
  )
  const filters = account.filters.map(([name, key, value]) => `[filter ${quoted(name)}]\n${key} = ${quoted(value)}\n`)
  writeFileSync(configuration, [...settings, ...filters].join(''))
  Object.assign(process.env, { GIT_CONFIG_GLOBAL: configuration, GIT_CONFIG_NOSYSTEM: '1' })
  applied = text
}

const quoted = (value: string): string =>
  `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`

function write(response: OperationResponse, bytes?: Buffer): Promise<void> {
  const chunks = encodeMessage(response, bytes)
  return new Promise(resolve => {
    for (const chunk of chunks.slice(0, -1)) process.stdout.write(chunk)
    process.stdout.write(chunks.at(-1)!, () => resolve())
  })
}

async function run({ id, name, input, account }: OperationRequest): Promise<void> {
  const send: Send = (bytes, part) => write({ id, part: part ?? '' }, bytes)
  try {
    apply(account)
    const operation = operations[name] as Operation<OperationName>
    await write({ id, result: await operation(input, send) })
  } catch (error) {
    await write({ id, failure: encodeFailure(error) })
  }
}

async function answerAll(): Promise<void> {
  for await (const { head } of readMessages(process.stdin)) void run(head as unknown as OperationRequest)
}

void answerAll().finally(() => process.exit())
