import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../failures/failure.ts'
import { readSettings } from '../context/profiles.ts'

/**
 * Lets the person change a text in VISUAL, EDITOR, the configured editor, or vi.
 * @param save takes the changed text. When it fails, the text is kept in a file that the error names.
 * @throws Failure when the editor ends with an error.
 */
export async function edit(text: string, filename: string, save: (text: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'board-edit-'))
  const path = join(folder, filename)
  await writeFile(path, text, { mode: 0o600 })
  await open(path)
  const changed = await readFile(path, 'utf8')
  try {
    await save(changed)
  } catch (error) {
    if (error instanceof Error) error.message += ` (your text is kept in ${path})`
    throw error
  }
  await rm(folder, { recursive: true })
}

async function open(path: string): Promise<void> {
  const editor = process.env.VISUAL || process.env.EDITOR || readSettings().config?.editor || 'vi'
  const { execa } = await import('execa')
  const { exitCode } = await execa('sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit', reject: false })
  if (exitCode !== 0)
    throw new Failure('failure', `the editor ended with ${exitCode ?? 'a signal'}; nothing was changed`, {
      hint: `your text is kept in ${path}`,
      see: 'board config set editor <command>',
    })
}
