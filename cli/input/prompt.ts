import { readFileSync } from 'node:fs'
import { Failure, usage } from '../failures/failure.ts'
import { isTerminal, writeStderr } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'
import { unreadableFile } from '../failures/unreadableFile.ts'

/** Determines whether a prompt is possible. A Context is an Asker. */
export interface Asker {
  mayAsk: boolean
}

/**
 * Asks for a line of text on the terminal.
 * @param flag the option that answers without a prompt: `--email`
 * @throws Failure (usage) with the flag, without a terminal.
 */
export async function askForLine({ mayAsk }: Asker, question: string, flag: string): Promise<string> {
  if (!mayAsk) throw unansweredFailure(question, flag)
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise<string>((resolve, reject) => {
    const interrupt = () => {
      writeStderr('\n')
      reject(interruptedFailure())
    }
    // Ctrl-C closes the interface here. Ctrl-D ends the input and closes it automatically.
    lines.on('SIGINT', () => lines.close()).on('close', interrupt)
    lines.question(`${escapeControls(question)}: `, answer => {
      lines.off('close', interrupt).close()
      resolve(answer.trim())
    })
  })
}

/** Asks a yes-or-no question. Only y and yes count as agreement. @param flag the option that answers without a prompt */
export const askYesOrNo = async (asker: Asker, question: string, flag: string): Promise<boolean> =>
  /^y(es)?$/i.test(await askForLine(asker, `${question} [y/N]`, flag))

/**
 * Asks yes or no. `yes` is the value of `--yes`.
 * @param about lines before the question that are required to answer it; `--quiet` does not hide them
 * @throws Failure (failure) on anything but yes
 */
export async function confirm(asker: Asker, question: string, yes: boolean | undefined, about?: string): Promise<void> {
  if (yes) return
  if (about !== undefined) writeStderr(`${escapeControls(about, true)}\n`)
  if (!(await askYesOrNo(asker, question, '--yes'))) throw new Failure('failure', 'nothing was changed')
}

/** Asks the person to type a name before an irreversible action. `yes` is the value of `--yes`. */
export async function confirmByName(
  asker: Asker,
  question: string,
  name: string,
  yes: boolean | undefined,
): Promise<void> {
  if (yes) return
  const answer = await askForLine(asker, `${question} Type "${name}" to confirm`, '--yes')
  if (answer !== name) throw new Failure('failure', 'that is not the name; nothing was changed')
}

/** Asks for a secret without showing it. */
export async function askSecret({ mayAsk }: Asker, question: string, flag: string): Promise<string> {
  if (!mayAsk) throw unansweredFailure(question, flag)
  const { stdin, stderr } = process
  // Disable echo before the prompt, so that text that is typed immediately is not shown either.
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stderr.write(`${question}: `)
  try {
    return await typedSecret()
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

/** The contents of stdin without the final line break, for secrets and IDs. */
export async function readStdin(flag: string): Promise<string> {
  if (isTerminal(0))
    throw usage(`${flag} reads stdin, and stdin is a terminal`, { hint: `for example: ${flag} < file` })
  process.stdin.setEncoding('utf8')
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  return text.replace(/\r?\n$/, '')
}

/**
 * The text of a file, or of stdin for `-`.
 * @throws Failure (usage) if it cannot be read
 */
export async function readText(path: string, flag: string): Promise<string> {
  if (path === '-') return readStdin(`${flag} -`)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw unreadableFile(`${flag} ${path}`, error)
  }
}

function typedSecret(): Promise<string> {
  let secret = ''
  return new Promise((resolve, reject) => {
    const end = (finish: () => void) => {
      process.stdin.off('data', onData)
      finish()
    }
    const onData = (chunk: string) => {
      for (const character of chunk) {
        if (character === '\r' || character === '\n' || character === '\u0004') return end(() => resolve(secret))
        if (character === '\u0003') return end(() => reject(interruptedFailure()))
        if (character === '\u007f' || character === '\b') secret = [...secret].slice(0, -1).join('')
        else if (character === '\u0015') secret = ''
        else if (character >= ' ') secret += character
      }
    }
    process.stdin.on('data', onData)
    process.stdin.resume()
  })
}

const interruptedFailure = (): Failure => new Failure('interrupted', 'interrupted')
const unansweredFailure = (question: string, flag: string): Failure =>
  usage(`this command cannot prompt: ${question.replace(/ \[y\/N\]$| Type ".*" to confirm$/, '')}`, {
    hint: `specify ${flag}`,
  })
