/** The input cannot be used: a setting, a catalogue of models, a script. Nothing was started. The message states what to change. */
export class WrongInput extends Error {
  override readonly name = "WrongInput";
}
