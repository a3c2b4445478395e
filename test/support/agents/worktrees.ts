import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { startBoard, type TestBoard } from '../servers/testBoard.ts'

/** Git with an author and without a user's configuration. */
export const gitEnvironment = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'T',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 'T',
  GIT_COMMITTER_EMAIL: 't@example.org',
}
export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, env: gitEnvironment, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
export function commit(cwd: string, file: string, text: string, message = `Change ${file}`): void {
  writeFileSync(join(cwd, file), text)
  git(cwd, 'add', file)
  git(cwd, 'commit', '-q', '-m', message)
}

/** The possible responses to a request to delete a card. */
export const dirty = { status: 409, code: 'WORKTREE_DIRTY' }
export const gone = { status: 204, code: undefined }

/** A card with a worktree attached. */
export interface AttachedCard {
  remove(force?: boolean): Promise<{ status: number; code?: string }>
  patch(): string
  patchFile(): string
}

/** A board, and the latest repository with a worktree on the branch `card` without unsaved work. */
export interface Worktrees {
  board: TestBoard
  repository: string
  worktree: string
  projectId: string
  /** Creates a new repository with two files, one of which has a name that needs quoting. */
  fresh(): Promise<void>
  /** Switches to another repository and worktree. */
  use(repository: string, worktree: string): Promise<void>
  /** An empty folder for this repository. */
  folder(name: string): string
  card(): Promise<AttachedCard>
  patches(): string[]
}

export async function startWorktrees(): Promise<Worktrees> {
  const board = await startBoard()
  let count = 0
  let model: string | undefined
  const worktrees: Worktrees = {
    board,
    repository: '',
    worktree: '',
    projectId: '',
    fresh: async () => {
      const repository = board.folder(`repository-${++count}`)
      cpSync((model ??= modelIn(board.folder('model'))), repository, { recursive: true })
      const worktree = join(repository, '..', `worktree-${count}`)
      git(repository, 'worktree', 'add', '-q', '-b', 'card', worktree)
      await worktrees.use(repository, worktree)
    },
    use: async (repository, worktree) => {
      const { id: projectId } = await board.client.projects.create({ name: 'P', path: repository })
      Object.assign(worktrees, { repository, worktree, projectId })
    },
    folder: name => board.folder(`${name}-${count}`),
    card: () => attach(worktrees),
    patches: () =>
      existsSync(join(board.dataDir, 'patches'))
        ? readdirSync(join(board.dataDir, 'patches')).map(name => join(board.dataDir, 'patches', name))
        : [],
  }
  return worktrees
}

/** A repository as a template, because creating one takes five processes. */
function modelIn(repository: string): string {
  git(repository, 'init', '-q', '--template=', '-b', 'main')
  mkdirSync(join(repository, 'src'))
  commit(repository, 'README', 'Read me.\n')
  commit(repository, 'src/ünïcode "name".txt', 'one\ntwo\n')
  return repository
}

async function attach({ board, projectId, worktree, patches }: Worktrees): Promise<AttachedCard> {
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Card' })
  await board.client.cards.attachWorktree({ projectId, cardId, path: worktree })
  const patchFile = () => patches().find(name => name.includes(`-${cardId}-`))!
  return {
    remove: async force => {
      const { status, body } = await board.request(
        'DELETE',
        `/api/projects/${projectId}/cards/${cardId}${force ? '?force=true' : ''}`,
      )
      return { status, code: body?.error.code }
    },
    patchFile,
    patch: () => readFileSync(patchFile(), 'utf8'),
  }
}

/** Every file below a folder with its content, or the target of a link. */
export function contents(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map((entry): [string, string] => {
      const path = join(entry.parentPath, entry.name)
      return [
        path.slice(folder.length + 1),
        entry.isSymbolicLink()
          ? `link to ${realpathSync(path)}`
          : `${statSync(path).mode & 0o111 ? 'executable ' : ''}${readFileSync(path, 'latin1')}`,
      ]
    })
  return Object.fromEntries(entries.filter(([path]) => path !== '.git'))
}
