import type { Command } from 'commander'
import { grouped } from '../help.ts'
import { registerAdd } from './cards-add.ts'
import { registerAttachments } from './cards-attachments.ts'
import { registerChanges } from './cards-changes.ts'
import { registerCredential } from './cards-credential.ts'
import { registerEdit } from './cards-edit.ts'
import { registerLifecycle } from './cards-lifecycle.ts'
import { registerList } from './cards-list.ts'
import { registerMove } from './cards-move.ts'
import { registerPipeline } from './cards-pipeline.ts'
import { registerRun } from './cards-run.ts'
import { registerView } from './cards-view.ts'
import { registerWorktree } from './cards-worktree.ts'

export function register(command: Command): void {
  registerList(command)
  registerView(command)
  registerAdd(command)
  registerEdit(command)
  registerMove(command)
  registerRun(command)
  registerChanges(command)
  registerWorktree(command)
  registerLifecycle(command)
  registerPipeline(command)
  registerAttachments(command)
  registerCredential(command)
  grouped(command, {
    'See cards': 'list view read summary',
    'Write cards': 'add edit attach attachments download detach',
    'Move cards on': 'move complete approve archive unarchive delete restore',
    'Run their agents': 'run wait cancel auto pipeline credential',
    'Work with their branches': 'diff merge checkout worktree',
  })
}
