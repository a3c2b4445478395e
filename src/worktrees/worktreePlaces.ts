import { join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import type { ServerConfig } from '../config/server.ts'

/** The settings that determine the location of worktrees. */
export type WorktreePlaces = Pick<ServerConfig, 'dataDir' | 'worktreeRoot' | 'earlierWorktreeRoots'>

/** The folder of worktrees in the data folder. */
export const worktreesFolder = (dataDir: string): string => join(dataDir, 'worktrees')

/** The folder of a card's worktree if it is created now. */
export const newWorktreePath = ({ dataDir, worktreeRoot }: WorktreePlaces, projectId: number, cardId: number): string =>
  join(worktreeRoot ?? worktreesFolder(dataDir), String(projectId), String(cardId))

/** The folder in which the gates run for an entry of the landing queue. */
export const landingPath = ({ dataDir, worktreeRoot }: WorktreePlaces, projectId: number, landingId: number): string =>
  join(worktreeRoot ?? worktreesFolder(dataDir), String(projectId), `landing-${landingId}`)

/** The folder next to a card's worktree that contains the worktrees of the project's other repositories, each by its name. */
export const repositoriesFolder = (worktreePath: string): string => `${worktreePath}.repositories`

/** The folders of worktrees outside of the data folder that this board has used. */
export const foreignRoots = ({ worktreeRoot, earlierWorktreeRoots = [] }: WorktreePlaces): string[] => [
  ...(worktreeRoot === undefined ? [] : [worktreeRoot]),
  ...earlierWorktreeRoots,
]

/** The folders of the board: no file in them is part of a project. */
export const boardFolders = (places: WorktreePlaces): string[] => [places.dataDir, ...foreignRoots(places)]

/** Whether a path could be a worktree that this board created, now or with an earlier root. */
export const isBelowRoot = (places: WorktreePlaces, path: string): boolean =>
  [worktreesFolder(places.dataDir), ...foreignRoots(places)].some(root => root !== path && isWithin(root, path))
