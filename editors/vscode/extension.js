// Starts the language server, `flc lsp`, when the first program is opened.  The client is a package of npm, which
// `npm install` in this folder fetches; without it programs are only highlighted.
'use strict';
const vscode = require('vscode');

let client;

function languageClient() {
  try {
    return require('vscode-languageclient/node');
  } catch {
    return undefined;
  }
}

exports.activate = async () => {
  const command = vscode.workspace.getConfiguration('fl').get('flc') || 'flc';
  const library = languageClient();
  if (!library) {
    vscode.window.showInformationMessage('Fl: run `npm install` in the folder of this extension for messages as you type');
    return;
  }
  const server = { command, args: ['lsp'] };
  client = new library.LanguageClient('flc', 'Fl', server, {
    documentSelector: [{ language: 'fl' }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.{fl,fut}') },
  });
  await client.start();
};

exports.deactivate = () => client && client.stop();
