import type { Command } from 'commander'
import { inItsProject } from '../../cards/cardApi.ts'
import { openUserContext } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import { chosenCredential } from '../../context/resolve.ts'

export function registerVerbs(cards: Command): void {
  const credential = cards
    .command('credential <card> <credential>')
    .summary("Choose the credential of a card's agent")
    .description(
      "Set the credential of a card's agent. If the credential is none, the agent uses the project's credential.",
    )
    .action(async (id: string, wanted: string) => {
      const context = await openUserContext(credential)
      const chosen = await chosenCredential(context, wanted)
      const card = await inItsProject(context, id, place =>
        context.client.credentials.chooseForCard({ ...place, credentialId: chosen }),
      )
      await context.out.did(
        card,
        chosen === null ? `Removed the credential of card ${id}.` : `Card ${id} uses credential ${chosen}.`,
      )
    })
  prints(credential, 'credentials.choose')
  example(credential, 'board cards credential 12 work', 'board cards credential 12 none')
}
