import type { SessionSandbox } from '../../../contract/agents/sandbox.ts'
import { approvingOption } from '../../../contract/agents/questionOptions.ts'
import { decideByPolicy } from '../../../domain/agents/approvalPolicy.ts'
import type { Reader } from '../../../store/engine/database.ts'
import { readProject } from '../../../store/projects/projects.ts'
import { isSideSession } from '../../../store/agents/sessionPurposes.ts'
import { readSession, type SessionRow } from '../../../store/agents/sessions.ts'
import { maxPaths } from '../../acp/callSubject.ts'
import type { PermissionRequest } from '../../link/agentLink.ts'
import { toPlainLine } from '../../link/failureReasons.ts'
import type { SessionRecord } from '../sessionRecord.ts'
import { otherWorktrees } from '../../../cardWork/repositoryWorktrees.ts'
import { isInsideFolder } from '../sandbox/isInsideFolder.ts'

/** How a project's policy answers a question on behalf of a user. */
interface PolicyAnswer {
  /** The option to choose. Null if the agent offers no option to refuse. */
  optionId: string | null
  /** The note in the transcript. */
  note: string
}

/**
 * Answers a question by the policy of the session's project and notes the answer in the transcript. Returns the option, null for
 * a refusal without an option, or undefined if a user must decide.
 */
export async function answerByPolicy(
  db: Reader,
  record: SessionRecord,
  request: PermissionRequest,
  beforeNote: () => Promise<void>,
): Promise<string | null | undefined> {
  const answer = await readPolicyAnswer(db, record.id, request)
  if (answer) await record.note(answer.note, beforeNote)
  return answer?.optionId
}

/** The policy's answer to a question. Undefined if a user must decide. */
async function readPolicyAnswer(
  db: Reader,
  sessionId: number,
  request: PermissionRequest,
): Promise<PolicyAnswer | undefined> {
  const session = await readSession(db, sessionId)
  const project = session && (await readProject(db, session.projectId))
  if (!project) return undefined
  // Planning changes nothing, regardless of which changes are allowed at work.
  const mayTouch = request.about === 'read' || (request.about === 'edit' && !isSideSession(session.purpose))
  const byPolicy = decideByPolicy(JSON.parse(project.approvalPolicy), {
    about: request.about,
    command: request.command,
    isInsideFolder:
      mayTouch &&
      session.cwd !== null &&
      request.paths.length <= maxPaths &&
      (await isInsideFolder(
        session.cwd,
        request.paths,
        request.about === 'edit',
        await otherWorktrees(db, session.cardId, project),
      )),
  })
  const isReview = session.purpose === 'review'
  const verdict = byPolicy === 'ask' && isReview ? decideForReviewer(request, session) : byPolicy
  if (verdict === 'ask') return undefined
  const { options } = request
  const findOption = (kind: string) => options.find(option => option.kind === kind)
  const option =
    verdict === 'allow' ? approvingOption(options) : (findOption('reject_once') ?? findOption('reject_always'))
  // A user must choose between several answers, and must allow anything permanent.
  if (verdict === 'allow' && !option && !isReview) return undefined
  const what = toPlainLine(request.command ?? request.title)
  return {
    optionId: option?.id ?? null,
    note: `${verdict === 'allow' && option ? 'Allowed' : 'Refused'} ${byPolicy === 'ask' ? 'for a reviewer' : "by the project's policy"}: ${what}`,
  }
}

/** Nobody answers the questions of a reviewer, which reads files, and runs commands only in a sandbox. */
function decideForReviewer({ about }: PermissionRequest, { sandbox }: SessionRow): 'allow' | 'refuse' {
  const isInSandbox = sandbox !== null && (JSON.parse(sandbox) as SessionSandbox).kind !== 'none'
  return about === 'read' || (about === 'command' && isInSandbox) ? 'allow' : 'refuse'
}
