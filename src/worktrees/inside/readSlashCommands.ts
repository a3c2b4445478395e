import { constants } from 'node:fs'
import { open, readdir, realpath, type FileHandle } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { InferOutput } from 'valibot'
import type { SlashCommand } from '../../contract/agents/agents.ts'

type Command = InferOutput<typeof SlashCommand>

/** The folders in which agents keep a project's own commands, with their file endings and the separator of their names. */
const places = [
  { folder: '.claude/commands', endings: ['.md'], separator: ':' },
  { folder: '.codex/prompts', endings: ['.md'], separator: ':' },
  { folder: '.gemini/commands', endings: ['.toml'], separator: ':' },
  { folder: '.qwen/commands', endings: ['.toml', '.md'], separator: ':' },
  { folder: '.opencode/command', endings: ['.md'], separator: '/' },
  { folder: '.opencode/commands', endings: ['.md'], separator: '/' },
] as const
const maxFiles = 500
const maxEntries = 5000
const maxLevels = 4
const maxBytes = 8192
const maxNameLength = 200
const maxDescriptionLength = 500

/** Reads the slash commands in a folder. Follows no links. A name can occur more than once. */
export async function readSlashCommands(root: string): Promise<Command[]> {
  const commands: Command[] = []
  const budget = { files: maxFiles, entries: maxEntries }
  for (const { folder, endings, separator } of places) {
    const top = join(root, folder)
    if ((await realpath(top).catch(() => undefined)) !== top) continue
    for (const file of await filesBelow(top, endings, maxLevels, budget)) {
      const name = relative(top, file)
        .replace(/\.\w+$/, '')
        .split('/')
        .join(separator)
      if (name.length <= maxNameLength && !/[\p{Cc}\uFFFD]/u.test(name))
        commands.push({ name, description: descriptionIn(await startOf(file), file), agents: [] })
    }
  }
  return commands
}

async function filesBelow(
  folder: string,
  endings: readonly string[],
  levels: number,
  budget: { files: number; entries: number },
): Promise<string[]> {
  const found: string[] = []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (budget.entries-- <= 0) break
    const path = join(folder, entry.name)
    if (entry.isDirectory() && levels > 1) found.push(...(await filesBelow(path, endings, levels - 1, budget)))
    else if (
      entry.isFile() &&
      endings.some(ending => entry.name.length > ending.length && entry.name.endsWith(ending)) &&
      budget.files-- > 0
    )
      found.push(path)
  }
  return found
}

/** The first 8 KiB of a file as text. Empty if a link or a pipe has replaced it. */
async function startOf(path: string): Promise<string> {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } catch {
    return ''
  } finally {
    await file?.close()
  }
}

/** The description in the front matter or the TOML table; else the first line. */
function descriptionIn(text: string, path: string): string {
  const isToml = path.endsWith('.toml')
  const matter = isToml ? text : /^---\r?\n(.*?)\r?\n---\s*(\r?\n|$)/s.exec(text)?.[1]
  const description = /^description\s*[:=]\s*(.+)$/m
    .exec(matter ?? '')?.[1]
    ?.trim()
    .replace(/^(["'])(.*)\1$/, '$2')
  if (isToml || description) return shorten(description ?? '')
  const body = matter === undefined ? text : text.slice(text.indexOf('\n---', 3) + 4)
  return shorten(
    body
      .split('\n')
      .map(line => line.replace(/^#+\s*/, '').trim())
      .find(line => line !== '') ?? '',
  )
}

const shorten = (text: string) =>
  text
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, maxDescriptionLength)
    .toWellFormed()
