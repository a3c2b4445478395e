import * as v from 'valibot'
import { JsonObject } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, put, viewer } from '../route.ts'

/** Layouts by card ID. Their content is the client's: the server stores it and does not read it. */
const PanelStates = v.record(v.string(), v.unknown())

export const panelStates = {
  get: get('/api/projects/{projectId}/panel-states', {
    notFound: ofProject,
    who: viewer(),
    summary: "Read the caller's layouts of a project's cards",
    output: PanelStates,
  }),
  set: put('/api/projects/{projectId}/panel-states', {
    notFound: ofProject,
    who: viewer(),
    summary: 'Replace the layouts of the cards that the body names',
    input: JsonObject,
    output: PanelStates,
  }),
  delete: del('/api/projects/{projectId}/panel-states/{cardId}', {
    notFound: { ...ofProject, cardId: 'PANEL_STATE_NOT_FOUND' },
    who: viewer(),
    summary: "Forget a card's layout",
  }),
}
