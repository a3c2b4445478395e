import type { Command } from 'commander'
import { openUserContext, type Context } from '../../context/context.ts'
import { originOf } from '../../context/selectServer.ts'
import { usage } from '../../failures/failure.ts'
import { askSecret, readText } from '../../input/prompt.ts'

/** Accepts an invitation for the signed-in user. */
export async function acceptInvitation(
  command: Command,
  { invitationFile }: { invitationFile?: string },
): Promise<void> {
  const context = await openUserContext(command)
  const text =
    invitationFile === undefined
      ? await askSecret(context, 'Invitation link', '--invitation-file')
      : await readText(invitationFile, '--invitation-file')
  const project = await context.client.invitations.accept({ token: invitationToken(context, text) })
  await context.out.did(
    project,
    `You are in project ${project.id} "${project.name}" (${project.role}), whose folder is ${project.path}.`,
  )
}

/**
 * Returns the token of an invitation link, or the text itself if it is a token. Rejects a link to another server, so that neither server
 * receives a secret for the other.
 */
export function invitationToken({ connection }: Context, text: string): string {
  const given = text.trim()
  const token = /^(?:.*#invitation=)?(svc_in_[0-9A-Za-z]+)$/.exec(given)?.[1]
  if (token === undefined)
    throw usage('the text is not an invitation', {
      hint: 'an invitation is a link that ends in #invitation=svc_in_..., or its last part',
    })
  const origin = originOf(given)
  if (origin !== undefined && origin !== 'null' && origin !== originOf(connection.url))
    throw usage(`the invitation is for ${origin}, not for ${connection.url}`, {
      hint: `specify --url ${origin}`,
      see: 'board auth status',
    })
  return token
}
